//! A list of servers as text: `ADDRESS:PORT [weight=N] [name=NAME]` a line with `#` before comments, or JSON. Pure.
//!
//! A mistake is reported with its line and without the line's content. Users who may read events may not be allowed to
//! read the file, and the path may name a wrong file.

use model::config::ServerWeight;
use model::config::server_edit::parse_server_address;
use serde::Deserialize;

use crate::state::overlay::DiscoveredServer;

/// Servers of one list.
/// As many as all pools together may have (`SERVERS` of the overlay).
const SERVERS: usize = 10_000;

#[derive(Deserialize)]
#[serde(untagged)]
enum Item {
    Address(String),
    Table(Table),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    address: String,
    weight: Option<u16>,
    name: Option<String>,
}

/// The servers of a list, or the first mistake with its line.
pub(super) fn parse_servers(text: &str) -> Result<Vec<DiscoveredServer>, String> {
    if text.trim_start().starts_with('[') && serde_json::from_str::<serde_json::Value>(text).is_ok()
    {
        let wrong =
            |_| "neither addresses nor tables with `address`, `weight` and `name`".to_owned();
        let items: Vec<Item> = serde_json::from_str(text).map_err(wrong)?;
        let numbered = items.into_iter().enumerate();
        return numbered
            .map(|(at, item)| server_from_item(item).map_err(|why| format!("element {at}: {why}")))
            .collect();
    }
    let mut servers = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        servers.push(server_from_line(line).map_err(|why| format!("line {}: {why}", at + 1))?);
        if servers.len() > SERVERS {
            return Err(format!("line {}: more than {SERVERS} servers", at + 1));
        }
    }
    Ok(servers)
}

fn server_from_item(item: Item) -> Result<DiscoveredServer, String> {
    let Table { address, weight, name } = match item {
        Item::Address(address) => Table { address, weight: None, name: None },
        Item::Table(table) => table,
    };
    check_server(&address, weight, name)
}

fn server_from_line(line: &str) -> Result<DiscoveredServer, String> {
    let mut fields = line.split_whitespace();
    let address = fields.next().unwrap_or_default();
    let mut weight = None;
    let mut name = None;
    for field in fields {
        match field.split_once('=') {
            Some(("weight", number)) => {
                let wrong = || format!("its weight is not a number, 0-{}", ServerWeight::MAX);
                weight = Some(number.parse().map_err(|_| wrong())?);
            }
            Some(("name", text)) => name = Some(text.to_owned()),
            _ => {
                return Err("what follows its address is neither weight=N nor name=NAME".to_owned());
            }
        }
    }
    check_server(address, weight, name)
}

fn check_server(
    address: &str,
    weight: Option<u16>,
    name: Option<String>,
) -> Result<DiscoveredServer, String> {
    let address = parse_server_address(address).map_err(|_| "expected ADDRESS:PORT".to_owned())?;
    if address.host.is_unix() {
        return Err("a Unix socket is named in the configuration alone".to_owned());
    }
    let address = address.to_string();
    if weight.is_some_and(|weight| weight > ServerWeight::MAX) {
        return Err(format!("its weight is not a number, 0-{}", ServerWeight::MAX));
    }
    let plain = |name: &String| {
        name.len() <= 255
            && name.split('-').all(|part| {
                !part.is_empty()
                    && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            })
    };
    if name.as_ref().is_some_and(|name| !plain(name)) {
        return Err("its name has more than lower-case letters, digits, and single '-'".to_owned());
    }
    Ok(DiscoveredServer { address, name, weight })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(address: &str, name: Option<&str>, weight: Option<u16>) -> DiscoveredServer {
        DiscoveredServer { address: address.into(), name: name.map(str::to_owned), weight }
    }

    #[test]
    fn lines_and_json_say_the_same() {
        let lines =
            "# web\n10.0.0.1:80\n\n[2001:db8::1]:81 weight=3 name=b # second\nweb.internal:80\n";
        let json = r#" ["10.0.0.1:80", {"address": "[2001:db8::1]:81", "weight": 3, "name": "b"}, "web.internal:80"]"#;
        let expected = vec![
            one("10.0.0.1:80", None, None),
            one("[2001:db8::1]:81", Some("b"), Some(3)),
            one("web.internal:80", None, None),
        ];
        assert_eq!(parse_servers(lines).unwrap(), expected);
        assert_eq!(parse_servers(json).unwrap(), expected);
        assert_eq!(parse_servers("# nothing\n").unwrap(), []);
    }

    #[test]
    fn mistakes_have_their_line() {
        for (text, place) in [
            ("10.0.0.1:80\n10.0.0.2\n", "line 2: "),
            ("10.0.0.1:80 wight=3\n", "line 1: "),
            ("10.0.0.1:80 weight=300\n", "line 1: "),
            ("10.0.0.1:80 weight=x\n", "line 1: "),
            ("\n\n10.0.0.1:80 name=A\n", "line 3: "),
            ("[\"10.0.0.1:80\", \"x\"]", "element 1: "),
            ("[3]", "neither"),
            ("<html>", "line 1: "),
            ("unix:/run/app.sock", "line 1: a Unix socket"),
        ] {
            let error = parse_servers(text).unwrap_err();
            assert!(error.starts_with(place), "{text:?}: {error}");
        }
    }

    #[test]
    fn no_mistake_repeats_what_the_file_says() {
        let secret = "hunter2Zq";
        for text in [
            "root:hunter2Zq:19000:0:99999:7:::",
            "hunter2Zq",
            "10.0.0.1:hunter2Zq",
            "10.0.0.1:80 hunter2Zq",
            "10.0.0.1:80 weight=hunter2Zq",
            "10.0.0.1:80 name=hunter2Zq",
            "-----BEGIN KEY-----\nhunter2Zq",
            "[\"hunter2Zq\"]",
            "[{\"hunter2Zq\": 1}]",
            "[{\"address\": \"10.0.0.1:80\", \"weight\": \"hunter2Zq\"}]",
            "[{\"address\": \"10.0.0.1:80\", \"name\": \"hunter2Zq\"}]",
        ] {
            let error = parse_servers(text).unwrap_err();
            assert!(!error.contains(secret), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\PC|[\n=#\\[\\]]){0,120}") {
            let _ = parse_servers(&text);
        }
    }
}
