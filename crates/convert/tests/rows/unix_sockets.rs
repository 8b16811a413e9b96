//! Servers on Unix sockets: whole files, and what is written of them.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

/// A file, what the conversion writes, and what it reports: the kind, and a part of the text.
type SocketCase = (&'static str, &'static [&'static str], Option<(NoteKind, &'static str)>);

fn check(dialect: Dialect, rows: &[SocketCase]) {
    for (file, written, noted) in rows {
        let converted = convert(file, "x", dialect);
        let text = converted.text.clone().unwrap_or_else(|| panic!("{file}: {converted:?}"));
        model::config::load(&text, "x").unwrap_or_else(|findings| panic!("{file}: {findings}"));
        for part in *written {
            assert!(text.contains(part), "{file}: no {part} in\n{text}");
        }
        let left = converted.notes.iter().filter(|note| note.kind == NoteKind::LeftOut);
        let wanted = usize::from(noted.as_ref().is_some_and(|it| it.0 == NoteKind::LeftOut));
        assert_eq!(left.count(), wanted, "{file}: {:?}", converted.notes);
        if let Some((kind, part)) = noted {
            let found =
                converted.notes.iter().any(|note| note.kind == *kind && note.reason.contains(part));
            assert!(found, "{file}: {:?}", converted.notes);
        }
    }
}

#[test]
fn nginx() {
    check(
        Dialect::Nginx,
        &[
            (
                "http { upstream app { server unix:/run/app.sock weight=2; server 10.0.0.1:81 backup; }\n\
                 server { listen 80; location / { proxy_pass http://app; } } }",
                &["address = \"unix:/run/app.sock\", weight = 2", "address = \"10.0.0.1:81\""],
                None,
            ),
            (
                "http { server { listen 80; location / { proxy_pass http://unix:/run/app.sock; } } }",
                &["\"unix:/run/app.sock\", # line", "host = \"localhost\""],
                None,
            ),
            (
                "http { server { listen 80; location /a/ {\n\
                 proxy_set_header Host $host; proxy_pass http://unix:/run/app.sock:/b/; } } }",
                &["\"unix:/run/app.sock\", # line", "/b/"],
                None,
            ),
            (
                "http { server { listen 80; location /a { proxy_pass http://unix:/run/a.sock; }\n\
                 location /A { proxy_pass http://unix:/run/A.sock; } } }",
                &["\"unix:/run/a.sock\"", "\"unix:/run/A.sock\""],
                None,
            ),
            (
                "http { server { listen 80; location / { proxy_pass https://unix:/run/app.sock; } } }",
                &["\"unix:/run/app.sock\", # line", "name = \"localhost\""],
                None,
            ),
            (
                "http { server { listen 80; location / { grpc_pass grpc://unix:/run/app.sock; } } }",
                &["\"unix:/run/app.sock\", # line", "http2 = \"only\""],
                None,
            ),
            (
                "stream { server { listen 5432; proxy_pass unix:/run/postgresql/.s.PGSQL.5432; } }",
                &["forward = \"tcp\"", "\"unix:/run/postgresql/.s.PGSQL.5432\", # line"],
                None,
            ),
            (
                "http { server { listen 80; listen unix:/run/front.sock;\n\
                 location / { proxy_pass http://unix:/run/app.sock; } } }",
                &["\"unix:/run/app.sock\", # line"],
                Some((NoteKind::LeftOut, "are not served")),
            ),
        ],
    );
}

#[test]
fn haproxy() {
    const FRONT: &str = "frontend f\n mode http\n bind :80\n default_backend b\n";
    let file = |rest: &str| -> &'static str {
        Box::leak(format!("{FRONT}backend b\n mode http\n{rest}").into_boxed_str())
    };
    check(
        Dialect::Haproxy,
        &[
            (file(" server a unix@/run/app.sock"), &["address = \"unix:/run/app.sock\""], None),
            (
                file(" server a /run/app.sock check weight 3"),
                &["address = \"unix:/run/app.sock\", weight = 3", "tcp = true"],
                None,
            ),
            (file(" server a abnsz@app"), &["address = \"unix:@app\""], None),
            (
                file(" server a abns@app\n server b 10.0.0.1:80"),
                &["address = \"10.0.0.1:80\""],
                Some((NoteKind::LeftOut, "fills the name")),
            ),
            (
                file(" server a unix@app.sock\n server b 10.0.0.1:80"),
                &["address = \"10.0.0.1:80\""],
                Some((NoteKind::LeftOut, "depends on where")),
            ),
            (
                file(" server a /run/app.sock check port 81"),
                &["address = \"unix:/run/app.sock\"", "tcp = true"],
                Some((NoteKind::Changed, "has no port")),
            ),
            (
                file(" server a /run/app.sock send-proxy-v2"),
                &["address = \"unix:/run/app.sock\"", "send-proxy = \"v2\""],
                None,
            ),
            (
                file(" server a /run/app.sock\nglobal\n chroot /var/lib/haproxy/\n"),
                &["address = \"unix:/var/lib/haproxy/run/app.sock\""],
                Some((NoteKind::Changed, "below its `chroot`")),
            ),
            (
                "frontend f\n mode http\n bind :80\n bind unix@/run/front.sock\n default_backend b\n\
                 backend b\n mode http\n server a /run/app.sock\n",
                &["address = \"unix:/run/app.sock\""],
                Some((NoteKind::LeftOut, "clients that use this socket are not served")),
            ),
        ],
    );
}
