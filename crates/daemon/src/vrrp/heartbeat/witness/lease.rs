//! A lease by one PUT (docs/vrrp.md, "What a witness answers"): another daemon's API, or a server that does the same.

use std::time::Duration;

use ha::witness::{Answer, Ask, What};
use http::Method;
use serde_json::{Value, json};

use super::call::{CallError, Caller, Said};

/// The lease.
pub struct Lease {
    caller: Option<Caller>,
    name: String,
    holder: String,
    length: Duration,
}

impl Lease {
    /// Of this name, for this holder.
    pub fn new(
        callers: impl Iterator<Item = Caller>,
        name: String,
        holder: String,
        length: Duration,
    ) -> Lease {
        let mut callers = callers;
        Lease { caller: callers.next(), name, holder, length }
    }

    /// The next question goes by a new connection.
    pub fn hang_up(&mut self) {
        self.caller.iter_mut().for_each(Caller::hang_up);
    }

    /// Asks.
    ///
    /// # Errors
    /// No answer that could be understood.
    pub async fn ask(&mut self, ask: Ask) -> Said {
        let (holds, length) = match ask.what {
            What::Take { holds } => (holds, self.length),
            What::Release => (false, Duration::ZERO),
        };
        let body = json!({
            "holder": self.holder,
            "ticket": ask.ticket,
            "holds": holds,
            "lease-ms": millis(length),
        });
        let caller = self.caller.as_mut().ok_or(CallError::Nowhere)?;
        let (status, said) = caller.call(Method::PUT, &format!("/{}", self.name), &body).await?;
        read(status, &said)
    }
}

fn read(status: u16, said: &Value) -> Said {
    match status {
        200 => match said.get("lease-ms").and_then(Value::as_u64) {
            Some(0) => Ok((Answer::Released, "the lease was given back".to_owned())),
            Some(ms) => {
                Ok((Answer::Given(Duration::from_millis(ms)), "the lease is ours".to_owned()))
            }
            None => Err(CallError::Content),
        },
        409 => {
            let why = said.get("detail").and_then(Value::as_str).unwrap_or("another one holds it");
            Ok((Answer::Refused, why.chars().filter(|c| !c.is_control()).take(200).collect()))
        }
        _ => {
            let why = said.get("detail").and_then(Value::as_str).unwrap_or_default();
            let why: String = why.chars().filter(|c| !c.is_control()).take(200).collect();
            Err(CallError::Status(status, why))
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
        let given = read(200, &json!({ "lease-ms": 3_000 })).unwrap().0;
        assert_eq!(given, Answer::Given(Duration::from_secs(3)));
        assert_eq!(read(200, &json!({ "lease-ms": 0 })).unwrap().0, Answer::Released);
        let refused = read(409, &json!({ "detail": "left holds it\n" })).unwrap();
        assert_eq!(refused, (Answer::Refused, "left holds it".to_owned()));
        for (status, said) in
            [(200, json!({})), (200, json!([])), (403, json!({})), (500, Value::Null)]
        {
            assert!(read(status, &said).is_err(), "{status} {said}");
        }
    }
}
