//! HTTP/2 connections without a socket, against servers made of literal bytes or of the library.

use super::*;

fn shot() -> RequestTemplate {
    RequestTemplate::get("shop.example", "/")
}

fn received(client: &mut Http2Client, bytes: &[u8]) -> Vec<StreamProgress> {
    let mut settled = Vec::new();
    client.on_received(bytes, &mut settled);
    settled
}

fn take(client: &mut Http2Client) -> Vec<u8> {
    let bytes = client.pending().to_vec();
    client.on_written(bytes.len());
    bytes
}

/// The stream numbers of the HEADERS frames sent, in order (RFC 9113 §4.1).
fn heads(mut bytes: &[u8]) -> Vec<u32> {
    bytes = bytes.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap_or(bytes);
    let mut found = Vec::new();
    while let [a, b, c, kind, _, s1, s2, s3, s4, rest @ ..] = bytes {
        if *kind == 1 {
            found.push(u32::from_be_bytes([*s1, *s2, *s3, *s4]));
        }
        bytes = &rest[u32::from_be_bytes([0, *a, *b, *c]) as usize..];
    }
    found
}

/// An empty SETTINGS frame from the server.
const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";

/// A response with status 200 (HPACK's static entry 8) and no body on this stream.
fn answer(stream: u8) -> Vec<u8> {
    vec![0, 0, 1, 1, 5, 0, 0, 0, stream, 0x88]
}

fn frame(kind: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, payload.len() as u8, kind, 0, 0, 0, 0, stream];
    bytes.extend(payload);
    bytes
}

fn progress(stream: usize, progress: ResponseProgress) -> StreamProgress {
    StreamProgress { stream, progress }
}

fn whole(stream: usize) -> StreamProgress {
    progress(stream, ResponseProgress::Complete { status: 200, reusable: true })
}

#[test]
fn a_request_waits_in_memory_and_garbage_is_no_answer() {
    let mut client = Http2Client::new(false, 1);
    client.send_request(0, 0, &shot());
    client.start_connection();
    assert!(client.pending().starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    client.on_closed();
    client.send_request(0, 0, &shot());
    assert!(client.pending().is_empty(), "it waits for the next connection");
    client.start_connection();
    assert_eq!(heads(&take(&mut client)), [1]);
    assert!(client.is_sent(0) && !client.has_begun(0));
    let settled = received(&mut client, b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert!(
        matches!(
            settled[..],
            [StreamProgress { stream: 0, progress: ResponseProgress::Failed(_) }]
        ),
        "{settled:?}"
    );
    assert!(client.is_finished());
}

#[test]
fn an_idle_connection_lives_through_pings_and_ends_with_a_farewell() {
    let mut client = Http2Client::new(false, 3);
    client.start_connection();
    // A PING is acknowledged (RFC 9113 §6.7).
    assert!(client.on_idle_bytes(SETTINGS));
    take(&mut client);
    assert!(client.on_idle_bytes(b"\0\0\x08\x06\0\0\0\0\0abcdefgh"));
    assert!(client.pending().ends_with(b"abcdefgh"), "it is answered");
    // GOAWAY with last stream 0 and no error (RFC 9113 §6.8).
    assert!(!client.on_idle_bytes(&frame(7, 0, &[0; 8])));
}

#[test]
fn answers_come_in_any_order() {
    let mut client = Http2Client::new(false, 3);
    for stream in 0..3 {
        client.send_request(stream, stream + 7, &shot());
    }
    client.start_connection();
    assert_eq!(heads(&take(&mut client)), [1, 3, 5]);
    let settled = received(&mut client, &[SETTINGS, &answer(5), &answer(1)].concat());
    assert_eq!(settled, [whole(0), whole(2)]);
    assert_eq!((client.request_kind(2), client.is_finished()), (9, false));
    assert!(!client.is_in_flight(0) && client.is_in_flight(1));
    // Stream slot 2 sends another request while slot 1 still waits for its response.
    client.send_request(2, 0, &shot());
    assert_eq!(heads(&take(&mut client)), [7]);
    assert_eq!(received(&mut client, &[answer(3), answer(7)].concat()), [whole(1), whole(2)]);
}

#[test]
fn a_stream_that_is_reset_or_given_up_leaves_the_others() {
    let mut client = Http2Client::new(false, 3);
    (0..3).for_each(|stream| client.send_request(stream, 0, &shot()));
    client.start_connection();
    take(&mut client);
    // RST_STREAM with REFUSED_STREAM (RFC 9113 §6.4).
    let settled = received(&mut client, &[SETTINGS, &frame(3, 3, &[0, 0, 0, 7])].concat());
    assert_eq!(settled, [progress(1, ResponseProgress::Failed(FailureCause::StreamReset))]);
    take(&mut client);
    client.abandon_stream(2);
    assert!(take(&mut client).ends_with(&frame(3, 5, &[0, 0, 0, 8])), "CANCEL is told");
    assert_eq!(received(&mut client, &answer(1)), [whole(0)]);
    assert!(!client.is_finished());
}

#[test]
fn a_farewell_lets_answers_come_and_what_is_asked_waits_for_the_next_connection() {
    let mut client = Http2Client::new(false, 2);
    client.send_request(0, 0, &shot());
    client.start_connection();
    take(&mut client);
    // GOAWAY: stream 1 is the last that the server processes.
    let farewell = frame(7, 0, &[0, 0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(received(&mut client, &[SETTINGS, &farewell].concat()), []);
    client.send_request(1, 0, &shot());
    assert!(heads(&take(&mut client)).is_empty(), "nothing more is asked here");
    assert!(!client.is_finished() && !client.is_in_flight(1));
    assert_eq!(received(&mut client, &answer(1)), [whole(0)]);
    assert!(client.is_finished());
    client.start_connection();
    assert_eq!(heads(&take(&mut client)), [1]);
    assert!(client.is_in_flight(1));
}

#[test]
fn what_the_farewell_leaves_out_is_asked_on_the_next_connection() {
    let mut client = Http2Client::new(false, 2);
    (0..2).for_each(|stream| client.send_request(stream, 0, &shot()));
    client.start_connection();
    assert_eq!(heads(&take(&mut client)), [1, 3]);
    let farewell = frame(7, 0, &[0, 0, 0, 1, 0, 0, 0, 0]);
    let settled = received(&mut client, &[SETTINGS, &farewell].concat());
    assert_eq!(settled, [progress(1, ResponseProgress::Unprocessed)]);
    client.send_request(1, 0, &shot());
    assert!(heads(&take(&mut client)).is_empty());
    assert_eq!(received(&mut client, &answer(1)), [whole(0)]);
    client.start_connection();
    assert_eq!(heads(&take(&mut client)), [1]);
}

#[test]
fn a_body_goes_as_the_peer_has_room() {
    let mut client = Http2Client::new(false, 1);
    let mut post = shot();
    post.method = "POST".to_owned();
    post.body = vec![b'x'; 100_000].into();
    client.send_request(0, 0, &post);
    client.start_connection();
    assert_eq!(received(&mut client, SETTINGS), []);
    let sent = take(&mut client).len();
    assert!((65_535..67_000).contains(&sent), "{sent}: the window that a connection begins with");
    assert!(!client.is_sent(0));
    // WINDOW_UPDATE of a megabyte, for the connection and for the stream (RFC 9113 §6.9).
    let room = |stream| frame(8, stream, &[0, 16, 0, 0]);
    assert_eq!(received(&mut client, &[room(0), room(1)].concat()), []);
    let rest = take(&mut client).len();
    assert!((34_465..35_000).contains(&rest), "{rest}");
    assert!(client.is_sent(0));
    assert_eq!(received(&mut client, &answer(1)), [whole(0)]);
    // The next request needs no further WINDOW_UPDATE of the connection.
    client.send_request(0, 0, &post);
    let sent = take(&mut client).len();
    assert!((65_535..67_000).contains(&sent), "{sent}: the window of a stream");
}
