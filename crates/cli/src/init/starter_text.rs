//! The text of a first configuration. A line that begins with `#` and a letter, without a blank between, is a setting to
//! switch on.

use super::answers::{StarterAnswers, StarterMethod};

/// The configuration of these answers. Answers that are no addresses make a text with mistakes.
pub fn write(answers: &StarterAnswers) -> String {
    let StarterAnswers { listen, forward, servers } = answers;
    let http = *forward == StarterMethod::Http;
    let probe = if http { PROBE_HTTP } else { PROBE_TCP };
    let more = if http { MORE_HTTP } else { "" };
    let servers: String = (servers.iter().enumerate())
        .map(|(at, address)| {
            format!("  {{ name = \"server{}\", address = {} }},\n", at + 1, quoted(address))
        })
        .collect();
    format!(
        "{HEAD}\n[service.web]\n\
         # Where clients connect. \":8080\" is every address of this machine; a list is possible.\n\
         listen  = {}\n\
         # \"http\" balances requests; \"tcp\" balances connections of any protocol.\n\
         forward = \"{}\"\n\
         pool    = \"servers\"\n{more}\n\
         [pool.servers]\n{probe}{BALANCE}servers = [\n{servers}]\n",
        quoted(listen),
        forward.name(),
    )
}

const HEAD: &str = "\
# A first configuration of Steelyard, written by `steelyard init`.
# `steelyard check` finds mistakes in it, and `steelyard check --explain` shows every value with its origin.
# After a change, `steelyard apply FILE` or SIGHUP activates it without losing a connection.
# Lines that begin with `#` and a letter are settings to switch on.

[global]
# Errors are logged; `all = true` logs every request. \"off\", \"stdout\" and a file's path are possible targets.
access-log = { target = \"stderr\" }
#metrics = \"127.0.0.1:9100\"
";

const MORE_HTTP: &str = "\
# TLS: a PEM file with the certificate and its key.
#tls = \"/etc/steelyard/web.pem\"
";

const PROBE_HTTP: &str = "\
# Health check: a server that does not answer this with a status of 200 to 399 gets no requests until it does.
probe   = { http = \"/\", interval = \"2s\" }
";

const PROBE_TCP: &str = "\
# Health check: a server that does not accept a connection gets none until it does.
probe   = { tcp = true, interval = \"2s\" }
";

const BALANCE: &str = "\
# How a server is chosen: \"round-robin\", \"random\" and others are possible.
#balance = \"round-robin\"
";

/// A string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use model::config::load;

    use super::*;

    fn answers(forward: StarterMethod) -> StarterAnswers {
        let servers = vec!["10.0.0.1:80".to_owned(), "app.example:8080".to_owned()];
        StarterAnswers { listen: ":8080".to_owned(), forward, servers }
    }

    #[test]
    fn it_is_good_also_with_everything_switched_on() {
        for forward in [StarterMethod::Http, StarterMethod::Tcp] {
            let text = write(&answers(forward));
            let checked = load(&text, "starter").unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert!(checked.warnings.is_empty(), "{:?}", checked.warnings);
            assert_eq!(checked.config.pools["servers"].servers.len(), 2);
            let setting = |line: &&str| {
                line.strip_prefix('#').is_some_and(|rest| rest.starts_with(char::is_alphabetic))
            };
            let all: String = (text.lines())
                .map(|line| if setting(&line) { &line[1..] } else { line })
                .map(|line| format!("{line}\n"))
                .collect();
            assert!(text.lines().filter(setting).count() >= 2);
            load(&all, "starter").unwrap_or_else(|error| panic!("{error}\n{all}"));
        }
    }

    #[test]
    fn an_answer_cannot_become_another_setting() {
        let hostile = "a:1\" }]\n[service.x]".to_owned();
        let text =
            write(&StarterAnswers { servers: vec![hostile], ..answers(StarterMethod::Http) });
        let findings = load(&text, "starter").unwrap_err();
        let elsewhere = findings.errors().find(|one| !one.key.starts_with("pool.servers"));
        assert_eq!(elsewhere, None);
    }
}
