//! The client against a unix socket that misbehaves, and against one that answers well.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

#[path = "support/place.rs"]
mod place;
#[path = "support/played.rs"]
mod played;

use std::future::Future;
use std::time::Duration;

use api::types::{Applied, Problem, ServerAction, Status};
use api::{ApiClient, ApiError};
use place::SocketDir;
use played::{socket, whole};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

/// Runs `talk` for the first connection and `ask` against it.
async fn against<T, A, F, G>(name: &str, talk: T, ask: A) -> G::Output
where
    T: FnOnce(UnixStream) -> F,
    F: Future<Output = ()> + Send + 'static,
    A: FnOnce(ApiClient) -> G,
    G: Future,
{
    let place = SocketDir::new(name);
    let listener = UnixListener::bind(socket(&place)).unwrap();
    let client = ApiClient::new(socket(&place)).with_deadline(Duration::from_secs(20));
    let (answer, ()) = tokio::join!(ask(client), async {
        let (stream, _) = listener.accept().await.unwrap();
        talk(stream).await;
    });
    answer
}

async fn read_request(stream: &mut UnixStream) -> String {
    let mut seen = Vec::new();
    loop {
        if let Some(request) = whole(&seen) {
            return request;
        }
        let mut some = [0; 4096];
        let n = stream.read(&mut some).await.unwrap();
        assert!(n > 0, "the client closed early: {}", seen.escape_ascii());
        seen.extend_from_slice(&some[..n]);
    }
}

fn answer(status: &str, content_type: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

async fn reply(mut stream: UnixStream, bytes: String) {
    read_request(&mut stream).await;
    // Ignored: the client may have given up before it is all written, which some of these tests want.
    let _ = stream.write_all(bytes.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// The result of `status` when the daemon sends these bytes.
async fn status_given(name: &str, bytes: &str) -> Result<Status, ApiError> {
    let bytes = bytes.to_owned();
    against(name, |stream| reply(stream, bytes), |client| async move { client.status().await })
        .await
}

#[tokio::test]
async fn an_absent_socket_is_reported_with_advice() {
    let place = SocketDir::new("absent");
    let error = ApiClient::new(socket(&place)).status().await.unwrap_err();
    assert!(matches!(error, ApiError::Absent { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.starts_with(&format!("no daemon at {}: is it running?", socket(&place).display())),
        "{text}"
    );
}

#[tokio::test]
async fn a_stale_socket_is_distinguished_from_an_absent_one() {
    let place = SocketDir::new("gone");
    drop(UnixListener::bind(socket(&place)).unwrap());
    let error = ApiClient::new(socket(&place)).status().await.unwrap_err();
    assert!(matches!(error, ApiError::NotListening { .. }), "{error:?}");
}

#[tokio::test]
async fn a_plain_file_in_its_place_is_named() {
    let place = SocketDir::new("file");
    std::fs::write(socket(&place), "not a socket").unwrap();
    let error = ApiClient::new(socket(&place)).status().await.unwrap_err();
    assert!(matches!(error, ApiError::NotSocket { .. }), "{error:?}");
}

#[tokio::test]
async fn garbage_is_not_http() {
    let error = status_given("garbage", "SSH-2.0-OpenSSH_9.9\r\n\r\n").await.unwrap_err();
    assert!(matches!(error, ApiError::NotHttp { .. }), "{error:?}");
}

#[tokio::test]
async fn closing_before_and_within_the_response_is_reported() {
    for (name, bytes) in [
        ("closed", ""),
        ("closed-head", "HTTP/1.1 200 OK\r\nconte"),
        (
            "closed-body",
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{",
        ),
    ] {
        let error = status_given(name, bytes).await.unwrap_err();
        assert!(matches!(error, ApiError::Closed { .. }), "{name}: {error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_daemon_costs_no_more_than_the_deadline() {
    let silent = |mut stream: UnixStream| async move {
        read_request(&mut stream).await;
        // Until the client gives up.
        let _ = stream.read(&mut [0]).await;
    };
    let error =
        against("silent", silent, |client| async move { client.status().await }).await.unwrap_err();
    assert!(matches!(error, ApiError::TimedOut { .. }), "{error:?}");
    assert!(error.to_string().contains("/v1/status within 20s"), "{error}");
}

#[tokio::test]
async fn a_huge_answer_is_given_up_at_the_limit() {
    let bytes = answer("200 OK", "application/json", &"x".repeat(100_000));
    let ask = |client: ApiClient| async move { client.with_answer_bytes(4096).status().await };
    let error = against("huge", |stream| reply(stream, bytes), ask).await.unwrap_err();
    assert!(matches!(error, ApiError::TooLarge { limit: 4096, .. }), "{error:?}");
}

#[tokio::test]
async fn another_content_type_is_reported() {
    let error = status_given("type", &answer("200 OK", "text/html; charset=utf-8", "<p>"))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the answer to /v1/status is 'text/html' where 'application/json' was expected; is it a steelyard daemon?"
    );
}

#[tokio::test]
async fn another_shape_is_reported() {
    for (name, body) in [("shape", "{\"pid\": \"x\"}"), ("broken", "{"), ("nothing", "")] {
        let error =
            status_given(name, &answer("200 OK", "application/json", body)).await.unwrap_err();
        assert!(matches!(error, ApiError::Decode { .. }), "{name}: {error:?}");
    }
    let bytes = "HTTP/1.1 204 No Content\r\ncontent-type: application/json\r\n\r\n";
    assert!(matches!(status_given("empty", bytes).await, Err(ApiError::Decode { .. })));
}

#[tokio::test]
async fn a_problem_is_a_refusal_with_its_own_words() {
    let problem = Problem {
        title: "another generation is active".into(),
        detail: "generation 7 is active, 6 was asked for".into(),
        advice: Some("look at `steelyard plan-change FILE` again".into()),
        ..Problem::default()
    };
    let body = serde_json::to_string(&problem).unwrap();
    let error = status_given("problem", &answer("409 Conflict", "application/problem+json", &body))
        .await
        .unwrap_err();
    assert!(error.is_refusal());
    assert_eq!(
        error.to_string(),
        "generation 7 is active, 6 was asked for; look at `steelyard plan-change FILE` again"
    );
    let ApiError::Refused(found) = error else { panic!("checked above") };
    assert_eq!(found.status, 409);
}

#[tokio::test]
async fn a_refusal_without_words_has_at_least_its_status() {
    for (name, content_type, body) in
        [("plain", "text/plain", "no"), ("bad", "application/problem+json", "[")]
    {
        let error = status_given(name, &answer("500 Oops", content_type, body)).await.unwrap_err();
        assert!(matches!(error, ApiError::Status { status: 500, .. }), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn requests_follow_the_routes() {
    let talk = |mut stream: UnixStream| async move {
        let request = read_request(&mut stream).await;
        assert!(
            request.starts_with("POST /v1/apply?if-generation=6&file=a%20b.toml HTTP/1.1\r\n"),
            "{request}"
        );
        assert!(request.contains("content-type: application/toml\r\n"), "{request}");
        assert!(request.ends_with("\r\n\r\n[pool.web]\n"), "{request}");
        let body =
            serde_json::to_string(&Applied { generation: 7, changed: true, ..Applied::default() })
                .unwrap();
        stream.write_all(answer("200 OK", "application/json", &body).as_bytes()).await.unwrap();
    };
    let ask = |client: ApiClient| async move {
        client.apply("[pool.web]\n".into(), Some("a b.toml".into()), Some(6), None).await
    };
    assert_eq!(against("apply", talk, ask).await.unwrap().generation, 7);

    let talk = |mut stream: UnixStream| async move {
        let request = read_request(&mut stream).await;
        assert!(request.starts_with("POST /v1/servers/web/* HTTP/1.1\r\n"), "{request}");
        assert!(request.ends_with("\r\n\r\n{\"action\":\"weight\",\"weight\":3}"), "{request}");
        stream
            .write_all(answer("200 OK", "application/json", "{\"servers\":[]}").as_bytes())
            .await
            .unwrap();
    };
    let action = ServerAction::Weight { weight: Some(3) };
    let ask = |client: ApiClient| async move { client.server("web", "*", action).await };
    assert!(against("server", talk, ask).await.unwrap().servers.is_empty());
}
