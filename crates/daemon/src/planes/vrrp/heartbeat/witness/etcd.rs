//! A lock in etcd over its JSON gateway (v3): an etcd lease, and a key that is deleted with the lease. If an etcd
//! member does not answer, the next member is tried.
//!
//! Only a process with the lease's number can renew the lease. A key of an earlier process of this member is taken over
//! by its exact revision, so delayed earlier requests change nothing.

use std::time::Duration;

use ha::witness::{WitnessOperation, WitnessReply, WitnessRequest};
use http::Method;
use serde_json::{Value, json};

use super::http_client::{
    WitnessCallError, WitnessCallResult, WitnessHttpAnswer, WitnessHttpClient, WitnessOutcome,
};

const PREFIX: &str = "steelyard/";

/// A lease of etcd, which holds the key while it is renewed.
struct EtcdLease {
    /// The lease's number, as the gateway writes it.
    id: String,
    /// The ticket for which it was granted.
    ticket: u64,
}

/// The answer to a grant or a renewal.
struct GrantedLease {
    id: String,
    /// How long it lasts from now.
    seconds: u64,
}

pub struct EtcdLock {
    members: Vec<WitnessHttpClient>,
    /// The etcd member that receives the requests.
    current_member: usize,
    key: String,
    holder: String,
    seconds: u64,
    lease: Option<EtcdLease>,
}

impl EtcdLock {
    /// Of this name, for this holder.
    pub fn new(
        callers: Vec<WitnessHttpClient>,
        name: String,
        holder: String,
        length: Duration,
    ) -> EtcdLock {
        let seconds = length.as_secs() + u64::from(length.subsec_nanos() > 0);
        let key = base64(format!("{PREFIX}{name}").as_bytes());
        EtcdLock {
            members: callers,
            current_member: 0,
            key,
            holder: base64(holder.as_bytes()),
            seconds,
            lease: None,
        }
    }

    /// The next request uses a new connection to the next member.
    pub fn disconnect(&mut self) {
        self.members.iter_mut().for_each(WitnessHttpClient::disconnect);
        self.current_member = (self.current_member + 1) % self.members.len().max(1);
    }

    /// Sends a request.
    ///
    /// # Errors
    /// No answer that could be understood.
    pub async fn send_request(&mut self, ask: WitnessRequest) -> WitnessCallResult {
        match ask.operation {
            WitnessOperation::Release => self.release().await,
            WitnessOperation::Acquire { .. } => self.acquire(ask.ticket).await,
        }
    }

    async fn acquire(&mut self, ticket: u64) -> WitnessCallResult {
        let known = self.lease.as_ref().filter(|lease| lease.ticket == ticket);
        let renewed = match known.map(|lease| lease.id.clone()) {
            Some(id) => self.renew_lease(id).await?,
            None => None,
        };
        let GrantedLease { id, seconds } = match renewed {
            Some(renewed) => renewed,
            None => self.grant().await?,
        };
        self.lease = Some(EtcdLease { id: id.clone(), ticket });
        let ours = WitnessOutcome {
            reply: WitnessReply::Granted(Duration::from_secs(seconds)),
            text: "the lock is ours".to_owned(),
        };
        let none = json!({ "key": self.key, "target": "CREATE", "createRevision": "0" });
        let found = match self.put(none, &id).await? {
            None => return Ok(ours),
            Some(found) => found,
        };
        let text = |key: &str| found.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("lease") == id {
            return Ok(ours);
        }
        if text("value") == self.holder {
            let same =
                json!({ "key": self.key, "target": "MOD", "modRevision": text("mod_revision") });
            if self.put(same, &id).await?.is_none() {
                return Ok(ours);
            }
        }
        let text = "another member has the lock".to_owned();
        Ok(WitnessOutcome { reply: WitnessReply::Refused, text })
    }

    /// Puts the key with this lease if that is so; otherwise how the key is.
    async fn put(&mut self, compare: Value, id: &str) -> Result<Option<Value>, WitnessCallError> {
        let put = json!({ "requestPut": { "key": self.key, "value": self.holder, "lease": id } });
        let range = json!({ "requestRange": { "key": self.key } });
        let body = json!({ "compare": [compare], "success": [put], "failure": [range] });
        let said = self.post("/v3/kv/txn", &body).await?;
        if said.get("succeeded").and_then(Value::as_bool) == Some(true) {
            return Ok(None);
        }
        let found = said.pointer("/responses/0/response_range/kvs/0").cloned();
        Ok(Some(found.unwrap_or(Value::Null)))
    }

    /// Renews the lease; `None`: it has expired.
    async fn renew_lease(&mut self, id: String) -> Result<Option<GrantedLease>, WitnessCallError> {
        let said = self.post("/v3/lease/keepalive", &json!({ "ID": id })).await?;
        let seconds = said.pointer("/result/TTL").and_then(number).filter(|ttl| *ttl > 0);
        Ok(seconds.map(|seconds| GrantedLease { id, seconds }))
    }

    async fn grant(&mut self) -> Result<GrantedLease, WitnessCallError> {
        let said = self.post("/v3/lease/grant", &json!({ "TTL": self.seconds })).await?;
        let id = said.get("ID").and_then(Value::as_str).map(str::to_owned);
        let seconds = said.get("TTL").and_then(number).filter(|ttl| *ttl > 0);
        let lease = id.zip(seconds).map(|(id, seconds)| GrantedLease { id, seconds });
        lease.ok_or(WitnessCallError::Content)
    }

    /// Revokes the lease, which deletes the key too.
    async fn release(&mut self) -> WitnessCallResult {
        if let Some(EtcdLease { id, .. }) = &self.lease {
            let body = json!({ "ID": id });
            self.post("/v3/lease/revoke", &body).await.or_else(|error| match error {
                // It is over already.
                WitnessCallError::Status(404, _) => Ok(Value::Null),
                error => Err(error),
            })?;
            self.lease = None;
        }
        let text = "the lock was given back".to_owned();
        Ok(WitnessOutcome { reply: WitnessReply::Released, text })
    }

    async fn post(&mut self, path: &str, body: &Value) -> Result<Value, WitnessCallError> {
        let caller =
            self.members.get_mut(self.current_member).ok_or(WitnessCallError::NoAddress)?;
        let WitnessHttpAnswer { status, body } = caller.exchange(Method::POST, path, body).await?;
        if status == 200 {
            return Ok(body);
        }
        let why = body.get("error").and_then(Value::as_str).unwrap_or_default();
        // 200 characters of the peer's text are enough for one log line.
        let why = why.chars().filter(|c| !c.is_control()).take(200).collect();
        Err(WitnessCallError::Status(status, why))
    }
}

/// A number as the gateway writes it: a text.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// With padding (RFC 4648 §4).
fn base64(bytes: &[u8]) -> String {
    const BASE64_ALPHABET: &[u8; 64] =
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for part in bytes.chunks(3) {
        let at = |index: usize| u32::from(part.get(index).copied().unwrap_or(0));
        let word = (at(0) << 16) | (at(1) << 8) | at(2);
        for place in 0..4 {
            let letter = BASE64_ALPHABET[((word >> (18 - 6 * place)) & 63) as usize];
            out.push(if place <= part.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_the_gateway_wants_them() {
        let rows =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (plain, coded) in rows {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(
            (number(&json!("3")), number(&json!(3)), number(&json!(null))),
            (Some(3), Some(3), None)
        );
    }
}
