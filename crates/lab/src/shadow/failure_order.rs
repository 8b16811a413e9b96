//! How requests order servers to fail, by what balancers hold against a server for it.
//!
//! Pure.

use super::observation::field_values;
use super::request::{ORDER, ShadowRequest};

/// From what is held against a server least to what is held most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureOrder {
    Nothing,
    Status,
    Cut,
    Drop,
    Silence,
}

impl FailureOrder {
    /// The order that a request carries.
    pub fn of(request: &ShadowRequest) -> FailureOrder {
        let fields = request.http().map_or(&[][..], |http| http.fields.as_slice());
        match field_values(fields, ORDER).first() {
            Some(&"silence") => FailureOrder::Silence,
            Some(&"drop") => FailureOrder::Drop,
            Some(&"cut") => FailureOrder::Cut,
            Some(order) if order.starts_with("status=5") => FailureOrder::Status,
            _ => FailureOrder::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hostile::field;
    use super::super::request::{HttpRequest, ShadowPayload};
    use super::*;

    fn request(order: &str) -> ShadowRequest {
        let fields = vec![field("X-A", "drop"), field(ORDER, order)];
        ShadowRequest {
            payload: ShadowPayload::Http(HttpRequest { fields, ..HttpRequest::default() }),
            ..ShadowRequest::sample()
        }
    }

    #[test]
    fn what_costs_a_server_most_comes_last() {
        let ordered = ["status=404|X=1", "status=503|Retry-After=1", "cut", "drop", "silence"];
        let mut shown = ordered.map(request);
        shown.reverse();
        shown.sort_by_key(FailureOrder::of);
        let orders =
            shown.map(|one| field_values(&one.http().unwrap().fields, ORDER)[0].to_owned());
        assert_eq!(orders, ordered);
    }
}
