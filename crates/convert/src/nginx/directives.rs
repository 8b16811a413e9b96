//! Directives that are not carried over, why, and what to use instead.

use crate::note_kind::NoteKind;
use crate::notes::ConversionNotes;

use super::tree::Directive;

type NginxDirective = (&'static [&'static str], NoteKind, &'static str, &'static str);

/// Directive names. A name that ends in `_` is a prefix.
const ROWS: &[NginxDirective] = &[
    (
        &[
            "user",
            "pid",
            "worker_",
            "events",
            "load_module",
            "daemon",
            "master_process",
            "error_log",
            "env",
            "lock_file",
            "pcre_jit",
            "thread_pool",
            "timer_resolution",
            "working_directory",
            "multi_accept",
            "include",
        ],
        NoteKind::NotNeeded,
        "the service manager starts and confines the process",
        "",
    ),
    (
        &[
            "sendfile",
            "sendfile_max_chunk",
            "tcp_nopush",
            "tcp_nodelay",
            "types_hash_",
            "server_names_hash_",
            "variables_hash_",
            "map_hash_",
            "server_tokens",
            "types",
            "default_type",
            "aio",
            "directio",
            "output_buffers",
            "postpone_output",
            "reset_timedout_connection",
            "open_file_cache",
            "open_file_cache_",
            "etag",
            "if_modified_since",
            "log_not_found",
            "proxy_buffer",
            "proxy_buffers",
            "proxy_buffer_size",
            "proxy_busy_buffers_size",
            "proxy_max_temp_file_size",
            "proxy_temp_",
            "proxy_headers_hash_",
            "client_body_buffer_size",
            "client_header_buffer_size",
            "client_body_temp_path",
            "fastcgi_temp_path",
            "uwsgi_temp_path",
            "scgi_temp_path",
            "log_format",
            "keepalive_requests",
            "proxy_socket_keepalive",
            "resolver_timeout",
            "proxy_responses",
            "proxy_requests",
            "merge_slashes",
            "port_in_redirect",
            "absolute_redirect",
            "msie_",
            "log_subrequest",
            "lingering_",
            "autoindex",
            "status_zone",
            "preread_",
            "proxy_force_ranges",
            "chunked_transfer_encoding",
            "proxy_ignore_client_abort",
            "grpc_buffer_size",
            "http2_",
            "http3",
            "http3_",
            "quic_",
            "proxy_upload_rate",
            "proxy_download_rate",
            "variables_",
            "uninitialized_variable_warn",
            "rewrite_log",
            "subrequest_output_buffer_size",
        ],
        NoteKind::NotNeeded,
        "buffers and switches of nginx itself",
        "",
    ),
    (
        &["charset"],
        NoteKind::Changed,
        "answers of rules name no charset, and those of servers pass as they are",
        "",
    ),
    (
        &["server_name_in_redirect"],
        NoteKind::Changed,
        "redirects to a path lead to the host that the client asked for",
        "a whole URL in `return`",
    ),
    (&["keepalive_disable"], NoteKind::NotNeeded, "old browsers are not told apart", ""),
    (
        &["resolver"],
        NoteKind::Changed,
        "names of servers are looked up with the machine's own resolvers",
        "",
    ),
    (
        &["ssl_trusted_certificate"],
        NoteKind::Changed,
        "it names who signs clients' certificates where nothing else does; an `.ocsp` file beside a certificate is stapled",
        "`tls.client.ca`",
    ),
    (
        &["proxy_http_version"],
        NoteKind::Changed,
        "servers are spoken to in HTTP/1.1",
        "`http2 = \"only\"` of the pool",
    ),
    (
        &["ssl_stapling", "ssl_stapling_"],
        NoteKind::Changed,
        "an `.ocsp` file beside a certificate is stapled",
        "`tls` of the service",
    ),
    (
        &["limit_req_status"],
        NoteKind::Changed,
        "a request above the limit is answered with 429",
        "",
    ),
    (
        &["underscores_in_headers", "ignore_invalid_headers"],
        NoteKind::Changed,
        "fields with other characters than letters, digits and `-` in their names are passed on",
        "`field-names` of the service",
    ),
    (
        &["ssl_session_tickets", "ssl_session_ticket_key", "ssl_early_data"],
        NoteKind::Changed,
        "tickets are given, with keys that the process makes and replaces; early data is not taken",
        "",
    ),
    (
        &["ssl_verify_depth"],
        NoteKind::LeftOut,
        "the length of a chain of clients' certificates is not limited",
        "in `tls.client.ca` only authorities none of whose further authorities issue for others",
    ),
    (
        &["proxy_ssl_verify_depth", "grpc_ssl_verify_depth"],
        NoteKind::Changed,
        "the length of a chain of certificates is not limited further",
        "",
    ),
    (
        &["proxy_ssl_server_name", "grpc_ssl_server_name"],
        NoteKind::Changed,
        "servers are always told the name that their certificate is verified against",
        "`tls.name` of the pool",
    ),
    (
        &["proxy_pass_request_", "proxy_method", "proxy_set_body"],
        NoteKind::LeftOut,
        "requests are passed on whole, with their method; so that no server gets more than from nginx, clients get 502",
        "`rewrite.remove` in a rule",
    ),
    (
        &["proxy_cookie_flags"],
        NoteKind::LeftOut,
        "no flags are added to cookies; so that none reaches clients without them, Set-Cookie is removed",
        "flags that servers write themselves",
    ),
    (
        &["access_log"],
        NoteKind::Changed,
        "the access log has a form of its own, and there is one for all services",
        "`[global] access-log`",
    ),
    (
        &[
            "ssl_ciphers",
            "ssl_prefer_server_ciphers",
            "ssl_ecdh_curve",
            "ssl_dhparam",
            "ssl_conf_command",
            "proxy_ssl_ciphers",
            "proxy_ssl_protocols",
        ],
        NoteKind::Changed,
        "ciphers and curves are chosen by `tls.policy`",
        "`tls = { policy = \"modern\" }`",
    ),
    (
        &["ssl_session_", "ssl_buffer_size", "proxy_ssl_session_reuse"],
        NoteKind::NotNeeded,
        "sessions and tickets are kept without being told; an `.ocsp` file beside a certificate is stapled",
        "",
    ),
    (
        &["gzip_", "brotli_", "zstd", "zstd_"],
        NoteKind::Changed,
        "how far answers are compressed, and with what memory, is not said",
        "`compress` in a service",
    ),
    (&["gunzip"], NoteKind::LeftOut, "answers are compressed, and never unpacked", ""),
    (
        &[
            "proxy_cache",
            "proxy_cache_",
            "proxy_store",
            "proxy_no_cache",
            "proxy_ignore_headers",
            "slice",
        ],
        NoteKind::LeftOut,
        "answers are not cached and not dated",
        "a cache behind or before the balancer",
    ),
    (
        &[
            "root",
            "index",
            "alias",
            "try_files",
            "create_full_put_path",
            "stub_status",
            "random_index",
        ],
        NoteKind::LeftOut,
        "files are not served",
        "a web server as a pool; `answer` for a short fixed page",
    ),
    (
        &["error_page", "proxy_intercept_errors", "grpc_intercept_errors"],
        NoteKind::LeftOut,
        "a page is for a whole service, and nothing here is written for it",
        "`error-page` in the service",
    ),
    (&["recursive_error_pages"], NoteKind::NotNeeded, "a page causes no further error", ""),
    (
        &[
            "fastcgi_",
            "uwsgi_",
            "scgi_",
            "memcached_",
            "perl_",
            "js_",
            "lua_",
            "content_by_lua_",
            "access_by_lua_",
            "rewrite_by_lua_",
            "empty_gif",
            "flv",
            "mp4",
            "dav_",
            "ssi",
            "sub_filter",
            "sub_filter_",
            "addition_",
            "add_before_body",
            "add_after_body",
            "image_filter",
            "xslt_",
            "xml_",
        ],
        NoteKind::LeftOut,
        "only HTTP is spoken to servers, and bodies are not changed",
        "a server that speaks HTTP",
    ),
    (
        &[
            "auth_request_",
            "auth_jwt_",
            "secure_link_",
            "auth_delay",
            "modsecurity",
            "modsecurity_",
        ],
        NoteKind::LeftOut,
        "requests are not authenticated",
        "authenticate at the servers, or `tls.client`",
    ),
    (
        &[
            "limit_conn",
            "limit_conn_",
            "limit_rate",
            "limit_rate_",
            "limit_req_",
            "proxy_limit_rate",
        ],
        NoteKind::LeftOut,
        "there is no such limit",
        "`limit` in a rule, `limit.connections` of a service",
    ),
    (
        &["geoip_", "geoip2", "userid", "userid_", "perl_set", "js_set"],
        NoteKind::LeftOut,
        "there are no variables",
        "the keys of a rule's `when`; `split` for shares",
    ),
    (
        &["set_real_ip_from", "real_ip_header", "real_ip_recursive"],
        NoteKind::LeftOut,
        "rules see the address of the connection: who is allowed by address is refused, and fields with it are not written",
        "`accept-proxy`, if the proxies in front can send the PROXY protocol",
    ),
    (
        &[
            "health_check",
            "match",
            "queue",
            "ntlm",
            "zone",
            "state",
            "api",
            "otel_",
            "opentracing_",
            "add_trailer",
            "server_traffic_status_",
            "vhost_traffic_status_",
            "mail",
            "auth_http",
            "if",
            "rewrite",
            "location",
        ],
        NoteKind::LeftOut,
        "it has no counterpart that does the same",
        "",
    ),
];

/// Switches whose value here is what is always so.
const AS_HERE: [(&str, &str); 12] = [
    ("charset", "off"),
    ("server_name_in_redirect", "off"),
    ("proxy_cookie_flags", "off"),
    ("proxy_method", "$request_method"),
    ("limit_req_status", "429"),
    ("proxy_http_version", "1.1"),
    ("proxy_pass_request_headers", "on"),
    ("proxy_pass_request_body", "on"),
    ("ssl_early_data", "off"),
    ("underscores_in_headers", "on"),
    ("underscores_in_headers", "off"),
    ("ignore_invalid_headers", "on"),
];

/// Whether the directive has a row here.
pub fn is_known(name: &str) -> bool {
    ROWS.iter().any(|row| is_in_row(row, name))
}

fn is_in_row(row: &NginxDirective, name: &str) -> bool {
    row.0.iter().any(|known| *known == name || known.ends_with('_') && name.starts_with(known))
}

/// Adds the note about a directive.
pub fn note_directive(directive: &Directive, notes: &mut ConversionNotes) {
    let name = directive.name.as_str();
    let source = directive.source;
    let text = directive.text();
    if AS_HERE.contains(&(name, directive.word(0))) {
        return directive.mark_converted();
    }
    match ROWS.iter().find(|row| is_in_row(row, name)) {
        Some((_, NoteKind::NotNeeded, reason, _)) => notes.not_needed(source, &text, reason),
        Some((_, NoteKind::Changed, reason, instead)) => {
            notes.changed(source, &text, reason, instead)
        }
        Some((_, _, reason, instead)) => notes.left_out(source, &text, reason, instead),
        None => notes.left_out(source, &text, "the converter does not know it", ""),
    }
}
