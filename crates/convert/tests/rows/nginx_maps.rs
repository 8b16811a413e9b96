//! `map`, `geo` and `split_clients` of nginx, one row for each use of a variable.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

/// Blocks of `http`, directives of a server, the expected output, and whether something is left out.
type MapCase = (&'static str, &'static str, &'static str, bool);

fn file(blocks: &str, directives: &str) -> String {
    format!(
        "http {{ upstream b {{ server 10.0.0.1; }} upstream c {{ server 10.0.0.2; }}\n{blocks}\n\
         server {{ listen 127.0.0.1:80; location / {{ proxy_pass http://b; }}\n{directives} }} }}"
    )
}

/// What is wrong with the output. `written`: texts that follow each other in it, with ` … ` between them.
fn fault(text: &str, written: &str, left: bool) -> Option<String> {
    let converted = convert(text, "x", Dialect::Nginx);
    assert_eq!(converted.unsettled, 0, "{text}: {:?}", converted.notes);
    let toml = converted.text.clone().unwrap_or_else(|| panic!("{text}: {converted:?}"));
    model::config::load(&toml, "x").unwrap_or_else(|findings| panic!("{text}: {findings}"));
    let squeezed = toml.replace('\n', " ");
    let mut rest = squeezed.as_str();
    for part in written.split(" … ") {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return Some(format!("{text}\nno {part} in\n{toml}")),
        }
    }
    let out: Vec<_> = converted
        .notes
        .iter()
        .filter(|note| note.kind == NoteKind::LeftOut)
        .map(|note| format!("{}: {}", note.directive, note.reason))
        .collect();
    (out.is_empty() == left).then(|| format!("{text}\nleft out: {out:?}\n{toml}"))
}

fn rows(rows: &[MapCase]) {
    let texts = rows.iter().map(|(blocks, directives, written, left)| {
        fault(&file(blocks, directives), written, *left)
    });
    let faults: Vec<String> = texts.flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n--\n"));
}

const TARGETS: &[MapCase] = &[
    // The text itself, then wildcards from the longest on, then expressions in their order.
    (
        "map $host $p { hostnames; default b; ~x c; *.example b; *.a.example c; www.example b; }",
        "location /a { proxy_pass http://$p; }",
        "host = \"www.example\" } pool = \"b\" … host = \"*.a.example\" } pool = \"c\" … host = \"*.example\" } pool = \"b\" … host-regex = \".*x.*\" } pool = \"c\" … when = { path = \"/a*\" } pool = \"b\"",
        false,
    ),
    (
        "map $host $p { hostnames; default b; .a.example c; }",
        "location /a { proxy_pass http://$p; }",
        "host = [\"a.example\", \"*.a.example\"] } pool = \"c\"",
        false,
    ),
    (
        "map $host $p { hostnames; default b; www.a.* c; }",
        "location /a { proxy_pass http://$p; }",
        "host-regex = \"www\\\\.a\\\\..+\" } pool = \"c\"",
        false,
    ),
    // Texts are compared without regard to case.
    (
        "map $http_x $p { default b; One c; }",
        "location /a { proxy_pass http://$p; }",
        "header = \"x: One\", value-case = \"ignore\"",
        false,
    ),
    (
        "map $http_x $p { default b; '' c; }",
        "location /a { proxy_pass http://$p; }",
        "not = { header-regex = \"x: .+\" } } pool = \"c\"",
        false,
    ),
    (
        "map $cookie_x $p { default b; 1 c; }",
        "location /a { proxy_pass http://$p; }",
        "cookie = \"x=1\" } pool = \"c\"",
        false,
    ),
    (
        "map $arg_v $p { default b; 2 c; }",
        "location /a { proxy_pass http://$p; }",
        "query = \"v=2\" } pool = \"c\"",
        false,
    ),
    (
        "map $request_method $p { default b; get c; }",
        "location /a { proxy_pass http://$p; }",
        "method = \"GET\" } pool = \"c\"",
        false,
    ),
    (
        "map $uri $p { default b; /X c; }",
        "proxy_set_header A b; location /a { proxy_pass http://$p; }",
        "path-regex = \"(?i)/X\"",
        false,
    ),
    (
        "map $scheme $p { default b; https c; }",
        "location /a { proxy_pass http://$p; }",
        "when = { path = \"/a*\" } pool = \"b\"",
        false,
    ),
    (
        "geo $p { default b; 10.0.0.0/8 c; 10.1.0.0/16 b; 192.0.2.1 c; }",
        "location /a { proxy_pass http://$p; }",
        "client = \"192.0.2.1\" } pool = \"c\" … client = \"10.1.0.0/16\" } pool = \"b\" … client = \"10.0.0.0/8\" } pool = \"c\"",
        false,
    ),
    (
        "geo $p { ranges; default b; 10.0.0.0-10.0.1.255 c; }",
        "location /a { proxy_pass http://$p; }",
        "client = \"10.0.0.0/23\" } pool = \"c\"",
        false,
    ),
    // Maps of maps.
    (
        "map $cookie_x $k { default 0; 1 1; } map $k $p { default b; 1 c; }",
        "location /a { proxy_pass http://$p; }",
        "cookie = \"x=1\" } pool = \"c\"",
        false,
    ),
    (
        "map $cookie_x $o { default b; 1 c; } map $http_y $p { default $o; 2 b; }",
        "location /a { proxy_pass http://$p; }",
        "header = \"y: 2\" } pool = \"b\" … cookie = \"x=1\" } pool = \"c\"",
        false,
    ),
    (
        "map $geoip_country_code $p { default b; DE c; }",
        "location /a { proxy_pass http://$p; }",
        "answer = 502",
        true,
    ),
    (
        "map $host $p { default b; include y; a.example c; }",
        "location /a { proxy_pass http://$p; }",
        "host = \"a.example\" } pool = \"c\"",
        true,
    ),
    (
        "split_clients $remote_addr $p { 10% c; * b; }",
        "location /a { proxy_pass http://$p; }",
        "split = [{ pool = \"c\", weight = 1 }, { pool = \"b\", weight = 9 }]",
        false,
    ),
    (
        "split_clients $remote_addr $s { 0.5% new; * old; } map $s $p { new c; old b; }",
        "location /a { proxy_pass http://$p; }",
        "split = [{ pool = \"c\", weight = 1 }, { pool = \"b\", weight = 199 }]",
        false,
    ),
    (
        "split_clients $remote_addr $s { 50% c; * b; } map $cookie_x $p { default $s; 1 c; }",
        "location /a { proxy_pass http://$p; }",
        "cookie = \"x=1\" } pool = \"c\" … when = { path = \"/a*\" } split = ",
        false,
    ),
    ("", "location /a { proxy_pass $scheme://c; }", "pool = \"c\"", false),
];

#[test]
fn targets_depend_on_variables() {
    rows(TARGETS);
}

const ANSWERS: &[MapCase] = &[
    (
        "map $request_uri $to { default ''; /old /new; ~^/x/(.*)$ /y/$1; }",
        "if ($to) { return 301 $to; }",
        "when = { path-regex = \"(?i)/old\" } redirect = { to = \"/new\", status = 301 }",
        false,
    ),
    (
        "map $request_uri $to { default ''; /old /new; ~^/x/(.*)$ /y/$1; }",
        "if ($to) { return 301 $to; }",
        "path-regex = \"/x/(.*)\" } redirect = { to = \"/y/{1}{query}\", status = 301 }",
        false,
    ),
    (
        "map $host $to { a.example b.example; default c.example; }",
        "location /a { return 301 https://$to$request_uri; }",
        "host = \"a.example\" } redirect = { to = \"https://b.example{path}{query}\", status = 301 }",
        false,
    ),
    (
        "geo $blocked { default 0; 192.0.2.0/24 1; }",
        "if ($blocked) { return 403; }",
        "when = { client = \"192.0.2.0/24\" } answer = 403",
        false,
    ),
    (
        "geo $inside { default 0; 10.0.0.0/8 1; }",
        "if ($inside = 0) { return 403; }",
        "when = { not = { client = \"10.0.0.0/8\" } } answer = 403",
        false,
    ),
    (
        "geo $bad { default 0; 10.0.0.0/8 1; 10.1.0.0/16 0; }",
        "if ($bad != 0) { return 403; }",
        "when = { not = { client = \"10.1.0.0/16\" }, client = \"10.0.0.0/8\" } answer = 403",
        false,
    ),
    (
        "map $http_user_agent $bot { default 0; ~*(bot|spider) 1; '' 1; }",
        "if ($bot) { return 403; }",
        "answer = 403",
        false,
    ),
    // What cannot be expressed refuses all who may be meant.
    ("geo $bad { default 0; include y; }", "if ($bad) { return 403; }", "] answer = 403", true),
    (
        "geo $bad { default 0; proxy 10.0.0.0/8; 192.0.2.1 1; }",
        "if ($bad) { return 403; }",
        "] answer = 403",
        true,
    ),
    (
        "geo $http_x $bad { default 0; 192.0.2.1 1; }",
        "if ($bad) { return 403; }",
        "] answer = 403",
        true,
    ),
    (
        "map $geoip_country_code $bad { default 1; DE 0; }",
        "if ($bad) { return 403; }",
        "] answer = 403",
        true,
    ),
    (
        "map $uri $bad { default 0; ~a(?=b) 1; }",
        "if ($bad) { return 403; }",
        "] answer = 403",
        true,
    ),
    (
        "split_clients $remote_addr $s { 5% 1; * 0; }",
        "if ($s) { return 503; }",
        "] answer = 503",
        true,
    ),
    (
        "map $geoip_country_code $ok { default 0; DE 1; } map $cookie_x $bad { default 0; 1 $ok; }",
        "if ($bad) { return 403; }",
        "when = { cookie = \"x=1\" } answer = 403",
        true,
    ),
    (
        "map $http_origin $o { default ''; ~^https://a\\.example$ $http_origin; }",
        "location /a { add_header Access-Control-Allow-Origin $o; return 204; }",
        "header-regex = \"origin: https://a\\\\.example\" } answer = 204 rewrite = { response-add = [{ field = \"Access-Control-Allow-Origin: {header.origin}\"",
        false,
    ),
];

#[test]
fn answers_depend_on_variables() {
    rows(ANSWERS);
}

const FIELDS: &[MapCase] = &[
    (
        "map $http_upgrade $connection_upgrade { default upgrade; '' close; }",
        "location /a { proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade; proxy_pass http://c; }",
        "when = { path = \"/a*\" } pool = \"c\"",
        false,
    ),
    (
        "map $http_upgrade $p { default b; websocket c; }",
        "location /a { proxy_pass http://$p; }",
        "header = \"upgrade: websocket\", value-case = \"ignore\" }] } pool = \"c\"",
        false,
    ),
    (
        "geo $zone { default out; 10.0.0.0/8 in; }",
        "location /a { proxy_set_header X-Zone $zone; proxy_pass http://c; }",
        "client = \"10.0.0.0/8\" } pool = \"c\" rewrite = { host = \"c\", set = \"X-Zone: in\"",
        false,
    ),
    (
        "map $http_x_forwarded_proto $proto { default $http_x_forwarded_proto; '' $scheme; }",
        "location /a { proxy_set_header X-Forwarded-Proto $proto; proxy_pass http://c; }",
        "set = \"X-Forwarded-Proto: {header.x-forwarded-proto}\"",
        false,
    ),
    (
        "map $geoip_country_code $land { default x; DE y; }",
        "location /a { proxy_set_header X-Land $land; proxy_pass http://c; }",
        "remove = \"X-Land\"",
        true,
    ),
    (
        "geo $n { default 1; 10.0.0.0/8 0; } map $n $key { 0 ''; 1 $binary_remote_addr; } limit_req_zone $key zone=z:1m rate=5r/s;",
        "location /a { limit_req zone=z; proxy_pass http://c; }",
        "when = { path = \"/a*\", client = \"10.0.0.0/8\" } pool = \"c\"",
        false,
    ),
    (
        "geo $n { default 1; 10.0.0.0/8 0; } map $n $key { 0 ''; 1 $binary_remote_addr; } limit_req_zone $key zone=z:1m rate=5r/s;",
        "location /a { limit_req zone=z; proxy_pass http://c; }",
        "limit = { rate = 5, burst = 1, by = \"address\" }",
        false,
    ),
    (
        "map $status $loud { ~^2 0; default 1; }",
        "access_log /x combined if=$loud;",
        "pool = \"b\"",
        false,
    ),
    ("map $host $unused { default 1; }", "", "pool = \"b\"", false),
    ("geo $unused { default 1; }", "", "pool = \"b\"", false),
    ("map $cookie_s $nc { default 0; ~. 1; }", "proxy_no_cache $nc;", "pool = \"b\"", true),
];

#[test]
fn fields_and_limits_depend_on_variables() {
    rows(FIELDS);
}

/// Blocks of `stream`, the target, the expected output, and whether something is left out.
const STREAMS: &[MapCase] = &[
    (
        "map $ssl_preread_server_name $p { hostnames; .a.example c; *.example b; default b; }",
        "$p",
        "when = { sni = [\"a.example\", \"*.a.example\"] } pool = \"c\"",
        false,
    ),
    ("map $ssl_preread_server_name $p { a.example c; }", "$p", "deny = true", false),
    ("map $ssl_preread_server_name $p { ~^x c; default b; }", "$p", "pool = \"b\"", true),
    (
        "map $ssl_preread_server_name $p { a.example $ssl_preread_server_name; default b; }",
        "$p",
        "deny = true",
        true,
    ),
    (
        "geo $p { default b; 10.0.0.0/8 c; }",
        "$p",
        "when = { client = \"10.0.0.0/8\" } pool = \"c\"",
        false,
    ),
    (
        "split_clients $remote_addr $p { 25% c; * b; }",
        "$p",
        "split = [{ pool = \"c\", weight = 1 }, { pool = \"b\", weight = 3 }]",
        false,
    ),
    ("map $ssl_preread_alpn_protocols $p { h2 c; default b; }", "$p", "", true),
];

#[test]
fn streams_depend_on_variables() {
    let texts = STREAMS.iter().map(|(blocks, target, written, left)| {
        let text = format!(
            "stream {{ {blocks} upstream b {{ server 10.0.0.1:1; }} upstream c {{ server 10.0.0.2:1; }}\n\
             server {{ listen 127.0.0.1:442; proxy_pass b; }} server {{ listen 127.0.0.1:443; ssl_preread on; proxy_pass {target}; }} }}"
        );
        fault(&text, written, *left)
    });
    let faults: Vec<String> = texts.flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n--\n"));
}

/// A rule that takes only some of the requests of its value does not open the next value to the others.
#[test]
fn values_exclude_each_other_where_their_rules_do_not_take_everything() {
    let blocks = "map $host $to { default ''; a.example ''; ~example /x; }";
    let text = file(blocks, "if ($to) { return 302 $to; }");
    let toml = convert(&text, "x", Dialect::Nginx).text.unwrap();
    let when = "when = { host-regex = \".*example.*\", not = { host = \"a.example\" } }";
    assert!(toml.contains(when), "{toml}");
}

#[test]
fn many_values_stay_within_bounds() {
    let entries: String = (0..3_000).map(|at| format!("/old/{at} /new/{at};\n")).collect();
    let blocks = format!("map $uri $to {{ default '';\n{entries} }}");
    let text = file(&blocks, "if ($to) { return 301 $to; }");
    let converted = convert(&text, "x", Dialect::Nginx);
    let toml = converted.text.unwrap();
    assert_eq!(toml.matches("redirect = ").count(), 3_000);
    assert!(converted.notes.iter().any(|note| note.reason.contains("letter case")));
    // Many maps in one target are left out rather than multiplied.
    let maps: String = (0..30)
        .map(|at| format!("map $cookie_c{at} $v{at} {{ default a; 1 b; 2 c; }}\n"))
        .collect();
    let target: String = (0..30).map(|at| format!("$v{at}")).collect();
    let text = file(&maps, &format!("location /a {{ proxy_pass http://{target}; }}"));
    let converted = convert(&text, "x", Dialect::Nginx);
    assert!(converted.text.unwrap().contains("answer = 502") && converted.left_out > 0);
}
