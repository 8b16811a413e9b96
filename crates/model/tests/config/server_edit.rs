//! Server commands saved to a file: only their settings change, comments stay, and the file has the meaning of the
//! command.

use model::config::server_edit::{EditError, ServerEdit, edit_server};
use model::config::{AdminState, load};
use proptest::prelude::*;

const LISTED: &str = "\
# The shop.
[service.shop]
listen = \"127.0.0.1:8080\" # inside
forward = \"http\"
pool = \"web\"

[pool.web]
servers = [
  # the old machine
  { name = \"a\", address = \"10.0.0.1:80\", weight = 3 }, # rack 1
  \"10.0.0.2:80\",
]
retries = 1 # few
";

const TABLES: &str = "\
[service.shop]
listen = \"127.0.0.1:8080\"
forward = \"http\"
pool = \"web\"
[[pool.web.servers]]
name = \"a\" # rack 1
address = \"10.0.0.1:80\"
[[pool.web.servers]]
address = \"10.0.0.2:80\"
";

const FORMS: [&str; 4] = [
    LISTED,
    TABLES,
    "service.shop = { listen = \"127.0.0.1:1\", forward = \"tcp\", pool = \"web\" }\n\
     pool.web = { servers = [{ address = \"10.0.0.1:80\", name = \"a\" }, \"10.0.0.2:80\"] }\n",
    "[service.shop]\nlisten = \"127.0.0.1:1\"\nforward = \"tcp\"\npool = \"web\"\n[pool.web]\nservers = [\n  { name = \
     \"a\", address = \"10.0.0.1:80\" },\n  \"10.0.0.2:80\" # last\n]\n",
];

fn edited(text: &str, server: &str, order: &ServerEdit<'_>) -> String {
    edit_server(text, "web", server, order).unwrap()
}

#[test]
fn comments_and_form_stay() {
    let text = edited(LISTED, "a", &ServerEdit::State(AdminState::Drain));
    let expected = LISTED.replace("weight = 3 }", "weight = 3, state = \"drain\" }");
    assert_eq!(text, expected);
    assert_eq!(edited(&text, "a", &ServerEdit::State(AdminState::Enabled)), LISTED);
    let text = edited(LISTED, "10-0-0-2-80", &ServerEdit::Weight(7));
    assert_eq!(
        text,
        LISTED.replace("\"10.0.0.2:80\"", "{ address = \"10.0.0.2:80\", weight = 7 }")
    );
    let text = edited(LISTED, "c", &ServerEdit::Add { address: "10.0.0.3:80", weight: None });
    let line = "  \"10.0.0.2:80\",\n  { name = \"c\", address = \"10.0.0.3:80\" },\n";
    assert_eq!(text, LISTED.replace("  \"10.0.0.2:80\",\n", line));
    assert_eq!(edited(&text, "c", &ServerEdit::Remove), LISTED);
}

#[test]
fn every_form_of_a_pool_takes_every_order() {
    for text in FORMS {
        for (server, order) in [
            ("a", ServerEdit::State(AdminState::Disabled)),
            ("10-0-0-2-80", ServerEdit::State(AdminState::Drain)),
            ("a", ServerEdit::Weight(9)),
            ("10-0-0-2-80", ServerEdit::Remove),
            ("new", ServerEdit::Add { address: "[2001:db8::1]:81", weight: Some(4) }),
        ] {
            let after = edited(text, server, &order);
            let checked = load(&after, "x").unwrap_or_else(|e| panic!("{e}\nin\n{after}"));
            let servers = &checked.config.pools["web"].servers;
            let found = servers.iter().find(|entry| entry.name == server);
            match order {
                ServerEdit::State(admin) => assert_eq!(found.unwrap().admin, admin, "{after}"),
                ServerEdit::Weight(weight) => {
                    assert_eq!(found.unwrap().weight.get(), weight, "{after}")
                }
                ServerEdit::Remove => assert!(found.is_none() && servers.len() == 1, "{after}"),
                ServerEdit::Add { .. } => {
                    assert_eq!((servers.len(), found.unwrap().weight.get()), (3, 4), "{after}");
                }
            }
        }
    }
}

#[test]
fn missing_servers_are_reported() {
    let order = ServerEdit::Weight(1);
    assert_eq!(edit_server(LISTED, "db", "a", &order), Err(EditError::NoPool("db".into())));
    assert!(matches!(edit_server(LISTED, "web", "z", &order), Err(EditError::NoServer { .. })));
    assert!(matches!(edit_server("= 3", "web", "a", &order), Err(EditError::Syntax(_))));
    assert!(matches!(
        edit_server("[pool.web]\nservers = 3\n", "web", "a", &order),
        Err(EditError::Form(_))
    ));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(\\PC|\n){0,200}", at in 0usize..200, hole in "\\PC{0,8}") {
        let order = ServerEdit::Add { address: "10.0.0.1:80", weight: None };
        let _ = edit_server(&text, "web", "a", &order);
        let mut broken = LISTED.to_owned();
        if broken.is_char_boundary(at) {
            broken.insert_str(at, &hole);
        }
        let _ = edit_server(&broken, "web", "a", &ServerEdit::State(AdminState::Drain));
    }
}
