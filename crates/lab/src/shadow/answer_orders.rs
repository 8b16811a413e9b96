//! What stand-in servers are ordered to answer in a run.
//!
//! Pure. Failures come last.

use super::plan::ShadowListener;

/// Orders for requests to this host of a listener.
pub fn answer_orders(host: &str, listener: &ShadowListener) -> Vec<String> {
    let scheme = if listener.is_tls { "https" } else { "http" };
    let port = listener.to.port();
    let mut orders = vec![
        "status=302|Location=/there".to_owned(),
        format!("status=302|Location=http://{host}/there?a=b"),
        format!("status=301|Location={scheme}://{host}:{port}/x"),
    ];
    let fixed = [
        "status=302|Location=https://elsewhere.example/x",
        "Set-Cookie=app=1; Path=/; HttpOnly|Set-Cookie=b=2; Domain=internal; Path=/app/",
        "X-Powered-By=php|Vary=Accept|Vary=Cookie|Cache-Control=no-store|Strict-Transport-Security=max-age=1|X-Frame-Options=SAMEORIGIN|under_score=1",
        "status=404|X-Of-Server=1",
        "status=204",
        "status=304|ETag=\"x\"",
        "size=3000000",
        "status=500",
        "status=503|Retry-After=1",
        "cut",
        "drop",
    ];
    orders.extend(fixed.map(str::to_owned));
    orders
}
