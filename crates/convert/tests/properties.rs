//! For any bytes: no panic, a bounded list of notes, and no output that `check` rejects.

#![allow(clippy::panic, reason = "the whole program is a test, which the lints cannot see")]

use convert::dialect::Dialect;
use convert::notes::LISTED;
use convert::run::convert;
use proptest::prelude::*;

/// Tokens of all dialects, and tokens that challenge parsers.
const WORDS: &[&str] = &[
    "\n",
    " ",
    "{",
    "}",
    ";",
    "\"",
    "'",
    "\\",
    "#",
    "!",
    "(",
    ")",
    ":",
    "@",
    "+",
    "80",
    "0",
    "99999999999",
    "-1",
    "ä",
    "\u{0}",
    "\n frontend a\n",
    "\nbackend b\n",
    "\nlisten c\n",
    "\ndefaults\n mode http\n",
    " bind :80\n",
    " bind :443 ssl crt x\n",
    " use_backend b if { path_beg /a }\n",
    " acl x hdr(host) -i y\n",
    " server s 10.0.0.1:80 check\n",
    " default_backend b\n",
    " balance hdr(x)\n",
    " timeout client 5x\n",
    " option httpchk\n",
    " cookie S insert\n",
    " if ",
    " http-request deny if !x\n",
    " stick on src\n",
    " .if\n",
    "http {",
    "server {",
    "listen 80;",
    "location ~ /a {",
    "proxy_pass http://a/b;",
    "upstream a { server 1.2.3.4; }",
    "return 301 https://$host$request_uri;",
    "rewrite ^(.*)$ /$1 break;",
    "server_name *.a b;",
    "include *;",
    "stream {",
    "map $ssl_preread_server_name $n { a b; }",
    "proxy_pass $n;",
    "\nvirtual_server 1.2.3.4 80 {\n",
    "\nreal_server 1.2.3.4 80 {\n",
    "\nlb_kind DR\n",
    "\nHTTP_GET {\n",
    "\nvrrp_instance A {\n",
    "\nvirtual_ipaddress {\n1.2.3.4\n}\n",
    "\nadvert_int 0.1\n",
    "\nvirtual_router_id 300\n",
    "\ndscontrol cluster add 1.2.3.4\n",
    "\ndscontrol port add 1.2.3.4:80 method nat\n",
    "\ndscontrol server add 1.2.3.4:80:1.2.3.5 weight 9999\n",
    "\ndscontrol rule add 1.2.3.4:80:r type ip beginrange 0.0.0.0 endrange 255.255.255.255\n",
    "\ndscontrol rule useserver 1.2.3.4:80:r 1.2.3.5\n",
    "\ndscontrol manager proportions 1 2 3 4\n",
    "\ndscontrol manager start\n",
    "\nshop.example, :8080 {\n",
    "\nhandle_path /a/* {\n",
    "\nreverse_proxy a:80 unix//run/x {\n",
    "\nrewrite /a {uri}?{query}\n",
    "\nrespond <<X\n y\n X 200\n",
    "\nheader_up Host {upstream_hostport}\n",
    "\n(s) {\n",
    "\nimport s {args[0]}\n",
    "\n@m {\n",
    "\nnot path *\n",
    "{$A:b}",
    "\nListen 80\n",
    "\n<VirtualHost *:80>\n",
    "\n</VirtualHost>\n",
    "\nProxyPass /a http://b/c$1\n",
    "\nProxyPassMatch ^/(.*)$ http://b/$1\n",
    "\n<Location ~ x>\nRequire not ip 10\n</Location>\n",
    "\nRewriteEngine On\nRewriteCond %{HTTP_HOST} !^$ [OR]\nRewriteRule ^(.*)$ https://%1$1?x [R,P]\n",
    "\nHeader always set X \"%{Y}e %\"\n",
    "\n<Macro m $a>\nUse m $a$a\n</Macro>\nUse m b\n",
    "\nRedirectMatch ( /$1\n",
    "static_resources:\n  listeners:\n  - name: a\n",
    "    address: { socket_address: { address: 127.0.0.1, port_value: 80 } }\n",
    "    filter_chains: [{ filters: [{ name: a, typed_config: { '@type': x.TcpProxy, cluster: a } }] }]\n",
    "  clusters: [{ name: a, type: STATIC, load_assignment: { endpoints: [] } }]\n",
    "{\"static_resources\": ",
    " &a ",
    " *a ",
    "<<: ",
    "- ",
    "[",
    "]",
];

fn sound(text: &str) {
    for dialect in Dialect::ALL {
        let converted = convert(text, "x\n.cfg", dialect);
        assert!(converted.notes.len() <= LISTED);
        if let Some(written) = &converted.text
            && let Err(findings) = model::config::load(written, "written")
        {
            panic!("{dialect:?} of {text:?} wrote what is refused:\n{findings}\n{written}");
        }
    }
    let _ = Dialect::recognise(text);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_converted_or_reported(text in any::<String>()) {
        sound(&text);
    }

    #[test]
    fn any_words_are_converted_or_reported(words in prop::collection::vec(prop::sample::select(WORDS), 0..60)) {
        sound(&words.concat());
    }

    #[test]
    fn any_cut_example_is_converted_or_reported(which in 0usize..4096, from in 0usize..3000, length in 0usize..3000) {
        let files: Vec<_> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data"))
            .map(|dir| dir.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        if let Some(text) = files.get(which % files.len().max(1)).and_then(|file| std::fs::read_to_string(file).ok()) {
            let cut: String = text.chars().skip(from % 1500).take(length).collect();
            sound(&cut);
        }
    }
}

#[test]
fn much_of_one_thing_is_bounded() {
    for piece in [
        "{",
        "}",
        "http {",
        "location / {",
        "a ",
        "\"",
        "vrrp_instance A {\n",
        "dscontrol c a 1+2+3+4:5+6+7+8\n",
        "listen a\n bind :1-65535\n",
        "server { listen 80; }",
        "frontend a\n bind :80\n",
        "include x;",
        ".if\n",
        "virtual_server 1.2.3.4 80 {\n}\n",
        "(s) {\nimport s\n}\nimport s\n",
        "a {\nhandle /a* {\n",
        ":80 {\nheader /a X b\n}\n",
        "<Location /a>\nHeader set X b\n</Location>\nListen 80\nProxyPass / http://a/\n",
        "<RequireAll>\n",
        "[",
        "- ",
        "? ",
        "{a: ",
        "&a ",
        "- name: a\n",
        "listeners: [{}]\n",
    ] {
        sound(&piece.repeat(2_000));
    }
    let wide = (0..200).map(|n| format!("a{n}")).collect::<Vec<_>>().join("+");
    sound(&format!("dscontrol server add {wide}:80:{wide} weight 1\n"));
}
