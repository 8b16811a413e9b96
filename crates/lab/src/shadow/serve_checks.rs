//! What stand-in servers say to health checks that speak a protocol of their own: greetings, and answers to their words.

use std::io::{self, Read, Write};

use super::message::MessageStream;

/// What a stand-in server says before the balancer does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StandInGreeting {
    #[default]
    None,
    Mysql,
    /// A line, as mail servers begin.
    Line(String),
}

/// The greeting of a MySQL server, version 10, with 20 bytes of salt.
const MYSQL: &[u8] = b"\x4a\x00\x00\x00\x0a5.7.0\x00\x01\x00\x00\x00saltsalt\x00\xff\xf7\x21\x02\x00\x7f\x80\x15\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00saltsaltsalt\x00mysql_native_password\x00";
/// MySQL's packet that all is well, second in its sequence.
const MYSQL_OK: &[u8] = b"\x07\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00";
/// PostgreSQL's message that authentication succeeded.
const POSTGRES_OK: &[u8] = b"R\x00\x00\x00\x08\x00\x00\x00\x00";
/// The answer to LDAP's first message, a bind: success (RFC 4511 section 4.2.2).
const LDAP_OK: &[u8] = b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00";

/// Greets, and serves what follows the greeting of a database to its end. True: the connection goes on.
pub fn greet<S: Read + Write>(
    stream: &mut MessageStream<S>,
    greeting: &StandInGreeting,
) -> io::Result<bool> {
    match greeting {
        StandInGreeting::None => Ok(true),
        StandInGreeting::Line(line) => {
            stream.send(format!("{line}\r\n").as_bytes())?;
            Ok(true)
        }
        StandInGreeting::Mysql => {
            stream.send(MYSQL)?;
            stream.fill()?;
            if stream.ahead().get(3) == Some(&1) && stream.ahead().len() > 4 {
                stream.send(MYSQL_OK)?;
            }
            Ok(false)
        }
    }
}

/// Answers the words of health checks to the connection's end. False: it is not one of those.
pub fn serve_check<S: Read + Write>(stream: &mut MessageStream<S>) -> io::Result<bool> {
    let ahead = stream.ahead();
    if ahead.get(4..8) == Some(&[0, 3, 0, 0]) {
        stream.send(POSTGRES_OK)?;
        return Ok(true);
    }
    if ahead.first() == Some(&0x30) && ahead.get(5) == Some(&0x60) {
        stream.send(LDAP_OK)?;
        return Ok(true);
    }
    let mut known = false;
    loop {
        let words = String::from_utf8_lossy(stream.ahead()).to_ascii_uppercase();
        let Some(answer) = answer_words(&words) else { return Ok(known) };
        known = true;
        let length = stream.ahead().len();
        stream.skip(length);
        stream.send(answer.as_bytes())?;
        if words.contains("QUIT") || !stream.fill()? {
            return Ok(true);
        }
    }
}

/// What a server of Redis or of mail says to these words, or to all of several lines; `None`: to none.
fn answer_words(words: &str) -> Option<String> {
    let mut out = String::new();
    if words.contains("*1\r\n$4\r\nPING") {
        return Some("+PONG\r\n".to_owned());
    }
    for line in words.split("\r\n").filter(|line| !line.is_empty()) {
        out.push_str(match line.split(' ').next().unwrap_or("") {
            "PING" => "+PONG\r\n",
            "INFO" => "$13\r\nrole:master\r\n\r\n",
            // Redis says the one, mail servers the other, and both checks look for their own.
            "QUIT" => "221 +OK\r\n",
            "EHLO" | "HELO" => "250 stand-in\r\n",
            _ => return None,
        });
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_checks_are_answered_one_by_one_or_together_and_others_are_not() {
        for (words, answer) in [
            ("PING\r\n", Some("+PONG\r\n")),
            ("*1\r\n$4\r\nPING\r\n", Some("+PONG\r\n")),
            ("PING\r\nQUIT\r\n", Some("+PONG\r\n221 +OK\r\n")),
            ("INFO REPLICATION\r\n", Some("$13\r\nrole:master\r\n\r\n")),
            ("EHLO A\r\n", Some("250 stand-in\r\n")),
            ("SHADOW\r\n", None),
            ("", None),
        ] {
            assert_eq!(answer_words(words).as_deref(), answer, "{words}");
        }
    }
}
