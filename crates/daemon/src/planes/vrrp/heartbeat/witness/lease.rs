//! A lease by one PUT (docs/vrrp.md, "The protocol of a witness"): another daemon's API, or a server that does the same.

use std::time::Duration;

use ha::witness::{WitnessOperation, WitnessReply, WitnessRequest};
use http::Method;
use serde_json::{Value, json};

use super::http_client::{WitnessCallError, WitnessCallResult, WitnessHttpClient, WitnessOutcome};

pub struct WitnessLease {
    client: Option<WitnessHttpClient>,
    name: String,
    holder: String,
    length: Duration,
}

impl WitnessLease {
    /// Of this name, for this holder.
    pub fn new(
        callers: impl Iterator<Item = WitnessHttpClient>,
        name: String,
        holder: String,
        length: Duration,
    ) -> WitnessLease {
        let mut callers = callers;
        WitnessLease { client: callers.next(), name, holder, length }
    }

    /// The next request uses a new connection.
    pub fn disconnect(&mut self) {
        self.client.iter_mut().for_each(WitnessHttpClient::disconnect);
    }

    ///
    /// # Errors
    /// No answer that could be understood.
    pub async fn send_request(&mut self, ask: WitnessRequest) -> WitnessCallResult {
        let (holds, length) = match ask.operation {
            WitnessOperation::Acquire { is_holder: holds } => (holds, self.length),
            WitnessOperation::Release => (false, Duration::ZERO),
        };
        let body = json!({
            "holder": self.holder,
            "ticket": ask.ticket,
            "holds": holds,
            "lease-ms": millis(length),
        });
        let caller = self.client.as_mut().ok_or(WitnessCallError::NoAddress)?;
        let answer = caller.exchange(Method::PUT, &format!("/{}", self.name), &body).await?;
        parse_reply(answer.status, &answer.body)
    }
}

fn parse_reply(status: u16, said: &Value) -> WitnessCallResult {
    match status {
        200 => match said.get("lease-ms").and_then(Value::as_u64) {
            Some(0) => Ok(WitnessOutcome {
                reply: WitnessReply::Released,
                text: "the lease was given back".to_owned(),
            }),
            Some(ms) => Ok(WitnessOutcome {
                reply: WitnessReply::Granted(Duration::from_millis(ms)),
                text: "the lease is ours".to_owned(),
            }),
            None => Err(WitnessCallError::Content),
        },
        409 => {
            let why = said.get("detail").and_then(Value::as_str).unwrap_or("another one holds it");
            // 200 characters of the witness's text are enough for one log line.
            let text = why.chars().filter(|c| !c.is_control()).take(200).collect();
            Ok(WitnessOutcome { reply: WitnessReply::Refused, text })
        }
        _ => {
            let why = said.get("detail").and_then(Value::as_str).unwrap_or_default();
            // 200 characters of the witness's text are enough for one log line.
            let why: String = why.chars().filter(|c| !c.is_control()).take(200).collect();
            Err(WitnessCallError::Status(status, why))
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_or_are_none() {
        let given = parse_reply(200, &json!({ "lease-ms": 3_000 })).unwrap().reply;
        assert_eq!(given, WitnessReply::Granted(Duration::from_secs(3)));
        assert_eq!(
            parse_reply(200, &json!({ "lease-ms": 0 })).unwrap().reply,
            WitnessReply::Released
        );
        let refused = parse_reply(409, &json!({ "detail": "left holds it\n" })).unwrap();
        let text = "left holds it".to_owned();
        assert_eq!(refused, WitnessOutcome { reply: WitnessReply::Refused, text });
        for (status, said) in
            [(200, json!({})), (200, json!([])), (403, json!({})), (500, Value::Null)]
        {
            assert!(parse_reply(status, &said).is_err(), "{status} {said}");
        }
    }
}
