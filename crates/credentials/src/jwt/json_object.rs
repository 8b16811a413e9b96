//! JSON objects in which no name stands twice: of two values of one name each reader takes another one (RFC 8725 §2.4,
//! RFC 8259 §4).

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The members of an object, which is all of the text; `None`: it is something else, or a name stands twice.
pub fn parse_object(text: &[u8]) -> Option<Map<String, Value>> {
    // Its depth is limited by the parser.
    match serde_json::from_slice::<UniqueValue>(text).ok()?.0 {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

struct UniqueValue(Value);

struct UniqueVisitor;

impl<'de> Deserialize<'de> for UniqueValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<UniqueValue, D::Error> {
        from.deserialize_any(UniqueVisitor).map(UniqueValue)
    }
}

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JSON without a name that stands twice")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("no number"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(UniqueValue(value)) = from.next_element()? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = from.next_key::<String>()? {
            let UniqueValue(value) = from.next_value()?;
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom("a name stands twice"));
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_read_as_any_reader_would_read_it() {
        let text = r#"{"a":[1,-2,1.5,true,null],"b":{"a":"é","":"\ud83d\ude00"},"c":18446744073709551615}"#;
        let expected: Map<String, Value> = serde_json::from_str(text).unwrap();
        assert_eq!(parse_object(text.as_bytes()), Some(expected));
    }

    #[test]
    fn what_readers_may_take_differently_is_refused() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
        for text in [
            "",
            "[]",
            "\"a\"",
            "{}{}",
            "{} x",
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"b":[{"a":1,"a":2}]}"#,
            r#"{"a":NaN}"#,
            r#"{"a":1e999}"#,
            r#"{"a":"\ud800"}"#,
            "\u{feff}{}",
            "{\"a\":\"\n\"}",
            "{'a':1}",
            &deep,
        ] {
            assert_eq!(parse_object(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_object(b"{\"a\":\"\xff\"}"), None);
    }
}
