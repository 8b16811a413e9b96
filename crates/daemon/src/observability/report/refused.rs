//! The last refused requests as the API shows them. Pure.

use api::types::{RefusedRequest, RefusedRequests};
use model::refused_requests::{
    CAPACITY, CLIENT_SHARE, RefusedRequestRecord as Kept, RefusedRequestRing,
};

/// The stored refusals, of one service or of all.
pub fn refused_requests(
    kept: &RefusedRequestRing,
    service: Option<&str>,
    now_unix_ms: u64,
) -> RefusedRequests {
    let lost = kept.lost_counts();
    let of = |one: &&Kept| service.is_none_or(|name| one.service == name);
    RefusedRequests {
        now_unix_ms,
        requests: kept.newest().filter(of).map(refused_request).collect(),
        max_requests: CAPACITY as u32,
        max_per_client: CLIENT_SHARE as u32,
        evicted: lost.evicted,
        over_client_limit: lost.over_share,
    }
}

fn refused_request(kept: &Kept) -> RefusedRequest {
    let said = |text: &String| (!text.is_empty()).then(|| text.clone());
    RefusedRequest {
        unix_ms: kept.unix_ms,
        id: kept.id.clone(),
        service: kept.service.clone(),
        client: kept.client.to_string(),
        protocol: kept.protocol.to_owned(),
        method: said(&kept.method),
        host: said(&kept.host),
        target: said(&kept.target),
        cause: kept.cause.name().to_owned(),
        defect: kept.defect.map(str::to_owned),
        field: said(&kept.field),
        at: kept.at,
        found: said(&kept.found),
        status: kept.status,
    }
}

#[cfg(test)]
mod tests {
    use model::cause::Cause;

    use super::*;

    #[test]
    fn the_newest_of_a_service_come_first() {
        let mut ring = RefusedRequestRing::default();
        for (at, service) in ["shop", "api", "shop"].into_iter().enumerate() {
            ring.add(Kept {
                unix_ms: at as u64,
                id: format!("id{at}"),
                service: service.into(),
                client: "192.0.2.7:4711".parse().unwrap(),
                protocol: "HTTP/1.1",
                method: String::new(),
                host: "shop.example".into(),
                target: "/".into(),
                cause: Cause::BadRequest,
                defect: Some("bare-lf"),
                field: "X".into(),
                at: Some(17),
                found: "\\x0a".into(),
                status: 400,
            });
        }
        let shop = refused_requests(&ring, Some("shop"), 9);
        assert_eq!(shop.requests.iter().map(|it| it.unix_ms).collect::<Vec<_>>(), [2, 0]);
        let newest = &shop.requests[0];
        assert_eq!((newest.method.as_ref(), newest.at), (None, Some(17)));
        assert_eq!(newest.defect.as_deref(), Some("bare-lf"));
        assert_eq!(refused_requests(&ring, None, 9).requests.len(), 3);
        assert_eq!(
            (shop.max_requests, shop.max_per_client, shop.evicted, shop.over_client_limit),
            (256, 64, 0, 0)
        );
    }
}
