//! Directives that no part of the converter has read: what is said of each.

use crate::notes::ConversionNotes;
use crate::statement::ConfigStatement;

/// Directives of the process, of modules and of files' types, which are not needed here.
const NOT_NEEDED: [&str; 60] = [
    "loadmodule",
    "loadfile",
    "serverroot",
    "pidfile",
    "mutex",
    "user",
    "group",
    "startservers",
    "minspareservers",
    "maxspareservers",
    "minsparethreads",
    "maxsparethreads",
    "threadlimit",
    "threadsperchild",
    "maxrequestworkers",
    "maxclients",
    "maxconnectionsperchild",
    "maxrequestsperchild",
    "serverlimit",
    "listenbacklog",
    "listencoresbucketsratio",
    "coredumpdirectory",
    "enablesendfile",
    "enablemmap",
    "addtype",
    "typesconfig",
    "addencoding",
    "addlanguage",
    "languagepriority",
    "addcharset",
    "adddefaultcharset",
    "mimemagicfile",
    "directoryindex",
    "indexoptions",
    "addicon",
    "addiconbytype",
    "addiconbyencoding",
    "defaulticon",
    "readmename",
    "headername",
    "indexignore",
    "fileetag",
    "contentdigest",
    "defaulttype",
    "servertokens",
    "serversignature",
    "serveradmin",
    "hostnamelookups",
    "extendedstatus",
    "gracefulshutdowntimeout",
    "scoreboardfile",
    "receivebuffersize",
    "sendbuffersize",
    "acceptfilter",
    "acceptmutex",
    "proxyiobuffersize",
    "proxyreceivebuffersize",
    "define",
    "undefine",
    "namevirtualhost",
];
/// Directives of files and of what makes answers of them.
const FILES: [&str; 34] = [
    "documentroot",
    "directory",
    "directorymatch",
    "files",
    "filesmatch",
    "alias",
    "aliasmatch",
    "scriptalias",
    "scriptaliasmatch",
    "allowoverride",
    "allowoverridelist",
    "options",
    "accessfilename",
    "userdir",
    "addhandler",
    "action",
    "script",
    "scriptsock",
    "php_value",
    "php_flag",
    "php_admin_value",
    "php_admin_flag",
    "setinputfilter",
    "addoutputfilter",
    "addinputfilter",
    "removehandler",
    "cgipassauth",
    "checkspelling",
    "dav",
    "davlockdb",
    "wsgiscriptalias",
    "wsgidaemonprocess",
    "wsgiprocessgroup",
    "fallbackresource",
];
/// Directives about log files.
const LOGS: [&str; 8] = [
    "customlog",
    "errorlog",
    "logformat",
    "loglevel",
    "transferlog",
    "errorlogformat",
    "globallog",
    "dumpioinput",
];
/// Who may ask, and how it is found out.
const IDENTITY: [&str; 13] = [
    "authname",
    "authtype",
    "authuserfile",
    "authgroupfile",
    "authbasicprovider",
    "authldapurl",
    "authldapbinddn",
    "authldapbindpassword",
    "authdigestprovider",
    "authmerging",
    "authbasicauthoritative",
    "authform",
    "session",
];

/// TLS beyond certificates and versions.
const TLS: [&str; 22] = [
    "sslciphersuite",
    "sslhonorcipherorder",
    "sslopensslconfcmd",
    "sslcompression",
    "sslsessioncache",
    "sslsessioncachetimeout",
    "ssloptions",
    "sslverifydepth",
    "sslinsecurerenegotiation",
    "sslrandomseed",
    "sslpassphrasedialog",
    "sslcryptodevice",
    "sslusestapling",
    "sslstaplingcache",
    "sslstaplingrespondertimeout",
    "sslstaplingreturnrespondererrors",
    "sslproxyprotocol",
    "sslproxyciphersuite",
    "sslproxyverifydepth",
    "sslrenegbuffersize",
    "sslfips",
    "sslsessionticketkeyfile",
];
/// Connections and HTTP/2.
const CONNECTIONS: [&str; 15] = [
    "keepalive",
    "maxkeepaliverequests",
    "maxkeepalivetimeout",
    "limitrequestfieldsize",
    "h2direct",
    "h2maxsessionstreams",
    "h2windowsize",
    "h2push",
    "h2upgrade",
    "h2streammaxmemsize",
    "protocolshonororder",
    "httpprotocoloptions",
    "limitinternalrecursion",
    "limitxmlrequestbody",
    "maxrangeoverlaps",
];
/// What the balancer does in its own way.
const OWN_WAY: [&str; 19] = [
    "usecanonicalname",
    "usecanonicalphysicalport",
    "traceenable",
    "proxybadheader",
    "proxymaxforwards",
    "proxystatus",
    "balancerinherit",
    "balancergrowth",
    "balancerpersist",
    "serverpath",
    "mergeslashes",
    "rewriteoptions",
    "rewritebase",
    "deflatecompressionlevel",
    "deflatebuffersize",
    "deflatefilternote",
    "brotlicompressionquality",
    "serveralias",
    "servername",
];

/// Says what becomes of a directive and of those in its block.
pub fn note_unread(one: &ConfigStatement, notes: &mut ConversionNotes) {
    let is_block = matches!(
        one.name.as_str(),
        "virtualhost"
            | "location"
            | "locationmatch"
            | "proxy"
            | "proxymatch"
            | "if"
            | "elseif"
            | "else"
    );
    if is_block
        || matches!(
            one.name.as_str(),
            "requireall" | "requireany" | "requirenone" | "limit" | "limitexcept"
        )
    {
        if !one.is_settled() {
            one.leave_out("nothing of it reaches a rule", "", notes);
            return;
        }
        one.inner().iter().for_each(|inner| note_unread(inner, notes));
        return;
    }
    if one.is_settled() {
        return;
    }
    let name = one.name.as_str();
    one.words_from(0);
    if NOT_NEEDED.contains(&name) {
        return one.note_not_needed(
            "the process, its modules and types of files are none of the balancer's",
            notes,
        );
    }
    if FILES.contains(&name) {
        return one.leave_out("files are not served: 404", "a web server as a pool", notes);
    }
    if LOGS.contains(&name) {
        let reason = "the access log has a form of its own, and there is one for all services";
        return one.note_changed(reason, "`[global] access-log`", notes);
    }
    if IDENTITY.contains(&name) || name.starts_with("auth") {
        let reason = "nobody is asked who he is: what it protects answers 401";
        return one.leave_out(
            reason,
            "certificates of clients, or an authenticating server",
            notes,
        );
    }
    if TLS.contains(&name) {
        let reason = "ciphers, sessions and stapling are chosen by `tls.policy`";
        return one.note_changed(reason, "`tls`", notes);
    }
    if CONNECTIONS.contains(&name) {
        let reason = "connections have limits of their own";
        return one.note_changed(reason, "`limit`, `http2`", notes);
    }
    if OWN_WAY.contains(&name) {
        return one.note_changed("the balancer does it in its own way", "", notes);
    }
    note_module(name, one, notes);
}

fn note_module(name: &str, one: &ConfigStatement, notes: &mut ConversionNotes) {
    match name {
        "sslusername" => {
            one.leave_out(
                "servers are told of certificates in fields",
                "`tls.client.headers`",
                notes,
            );
        }
        "include" | "includeoptional" if one.word(0).ends_with("/options-ssl-apache.conf") => {
            one.note_changed("versions and ciphers are chosen by `tls.policy`", "`tls`", notes);
        }
        "include" | "includeoptional" => {
            one.leave_out("files are not opened", "put the file's text in its place", notes);
        }
        "proxyrequests" if one.word(0).eq_ignore_ascii_case("off") => one.settle_converted(notes),
        "proxyrequests" | "proxyremote" | "proxyremotematch" | "allowconnect" | "proxydomain"
        | "noproxy" | "proxyblock" => {
            one.leave_out("requests to other servers are not forwarded for clients", "", notes);
        }
        "errordocument" | "proxyerroroverride" => {
            one.leave_out("errors have answers of their own", "", notes);
        }
        "setenv" | "setenvif" | "setenvifnocase" | "setenvifexpr" | "browsermatch"
        | "browsermatchnocase" | "passenv" | "unsetenv" => {
            one.leave_out("rules have no variables of the environment", "", notes);
        }
        "limitrequestbody" => one.leave_out(
            "bodies of a section have the limit of its virtual host, or none",
            "`body-bytes` in a rule",
            notes,
        ),
        _ => one.leave_out("nothing here reads the directive", "", notes),
    }
}
