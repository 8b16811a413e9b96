//! The machine against another implementation, the crate h2, in both roles: bodies are echoed, with trailers.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use wire::http2::{
    AbuseLimits, BodyPart, ErrorCode, FieldSection, Http2Event, Http2Machine, MachineLimits,
};

use crate::frames::section;

const LIMITS: MachineLimits = MachineLimits {
    stream_window: 20_000,
    connection_window: 100_000,
    concurrent_streams: 100,
    header_list_bytes: 64 * 1_024,
    send_buffer_bytes: 10_000,
    extended_connect: true,
    abuse: AbuseLimits::NONE,
};

/// Bodies of the streams, by their number.
const SIZES: [usize; 8] = [0, 1, 100, 16_384, 16_385, 70_000, 300_000, 5];

/// Fields that repeat, that differ by stream, and one larger than a frame.
fn extra(number: usize) -> Vec<(&'static str, String)> {
    vec![
        ("user-agent", "a client of the test".to_owned()),
        ("x-number", number.to_string()),
        ("cookie", format!("session={number}")),
        ("x-long", "y".repeat(if number == 3 { 20_000 } else { number * 10 })),
    ]
}

fn content(number: usize) -> Vec<u8> {
    (0..SIZES[number]).map(|at| (at * (number + 1) % 251) as u8).collect()
}

/// One turn of a machine over a transport: writes what there is, or else reads something. `false`: the transport has
/// ended.
async fn turn(machine: &mut Http2Machine, transport: &mut DuplexStream) -> bool {
    let output = machine.output().to_vec();
    if !output.is_empty() {
        machine.consume_output(output.len());
        // A peer that has ended reads no more.
        return transport.write_all(&output).await.is_ok();
    }
    let mut input = BytesMut::with_capacity(4_096);
    match transport.read_buf(&mut input).await {
        Ok(0) | Err(_) => {
            machine.receive_end();
            false
        }
        Ok(_) => {
            machine.receive(input.freeze(), Duration::ZERO);
            true
        }
    }
}

/// What is still to be sent on a stream.
#[derive(Default)]
struct EchoedBody {
    waiting: BytesMut,
    ended: bool,
    done: bool,
}

/// Sends what waits; trailers follow.
fn send(machine: &mut Http2Machine, stream: u32, body: &mut EchoedBody) {
    if body.done {
        return;
    }
    let taken = machine.send_data(stream, &body.waiting, false).unwrap();
    let _ = body.waiting.split_to(taken);
    if body.ended && body.waiting.is_empty() {
        machine.send_trailers(stream, section(&[("x-trailer", "last")])).unwrap();
        body.done = true;
    }
}

/// Echoes every request until the client has gone.
async fn serve_with_machine(mut transport: DuplexStream) {
    let mut machine = Http2Machine::server(&LIMITS, Duration::ZERO);
    let mut bodies: BTreeMap<u32, EchoedBody> = BTreeMap::new();
    while turn(&mut machine, &mut transport).await {
        while let Some(event) = machine.next_event() {
            match event {
                Http2Event::Request { stream, fields, .. } => {
                    let mut head = section(&[(":status", "200")]);
                    let regular = fields.iter().filter(|(name, _)| name[0] != b':');
                    regular.for_each(|(name, value)| head.push(name, value));
                    machine.send_response(stream, &head, false).unwrap();
                    bodies.insert(stream, EchoedBody::default());
                }
                Http2Event::Failed { code, .. } => panic!("{}", code.name()),
                Http2Event::Ended { stream, reset } => panic!("{stream} {reset:?}"),
                _ => {}
            }
        }
        for (stream, body) in &mut bodies {
            loop {
                match machine.read_data(*stream) {
                    BodyPart::Data(piece) => {
                        body.waiting.extend_from_slice(&piece);
                        machine.release(*stream, piece.len());
                    }
                    BodyPart::End => {
                        body.ended = true;
                        break;
                    }
                    BodyPart::Pending | BodyPart::Gone => break,
                }
            }
            send(&mut machine, *stream, body);
            if body.done {
                machine.close_stream(*stream, ErrorCode::CANCEL);
            }
        }
        bodies.retain(|_, body| !body.done);
    }
}

async fn request_with_h2(send: h2::client::SendRequest<Bytes>, number: usize) {
    let mut request = Request::post("https://shop.example/a");
    for (name, value) in extra(number) {
        request = request.header(name, value);
    }
    let mut send = send.ready().await.unwrap();
    let (answer, mut stream) = send.send_request(request.body(()).unwrap(), false).unwrap();
    let upload = tokio::spawn(async move {
        let body = Bytes::from(content(number));
        // The library waits for the windows by itself.
        stream.send_data(body, true).unwrap();
    });
    let answer = answer.await.unwrap();
    assert_eq!(answer.status(), 200);
    for (name, value) in extra(number) {
        assert_eq!(answer.headers()[name], value.as_str(), "stream {number}");
    }
    let mut body = answer.into_body();
    let mut received = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece.unwrap();
        body.flow_control().release_capacity(piece.len()).unwrap();
        received.extend_from_slice(&piece);
    }
    assert!(received == content(number), "stream {number}");
    assert_eq!(body.trailers().await.unwrap().unwrap()["x-trailer"], "last");
    upload.await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_client_of_h2_is_served() {
    let (near, far) = tokio::io::duplex(5_000);
    let server = tokio::spawn(serve_with_machine(far));
    let (send, connection) = h2::client::handshake(near).await.unwrap();
    let connection = tokio::spawn(connection);
    for _ in 0..3 {
        let requests: Vec<_> = (0..SIZES.len())
            .map(|number| tokio::spawn(request_with_h2(send.clone(), number)))
            .collect();
        for request in requests {
            request.await.unwrap();
        }
    }
    drop(send);
    connection.await.unwrap().unwrap();
    server.await.unwrap();
}

async fn echo_with_h2(
    request: Request<h2::RecvStream>,
    mut respond: h2::server::SendResponse<Bytes>,
) {
    let (parts, mut body) = request.into_parts();
    assert_eq!(parts.uri, "https://shop.example/a");
    let mut head = Response::new(());
    *head.headers_mut() = parts.headers;
    let mut send = respond.send_response(head, false).unwrap();
    while let Some(piece) = body.data().await {
        let piece = piece.unwrap();
        body.flow_control().release_capacity(piece.len()).unwrap();
        send.send_data(piece, false).unwrap();
    }
    let trailers = body.trailers().await.unwrap().unwrap();
    assert_eq!(trailers["x-trailer"], "last");
    let mut trailers = HeaderMap::new();
    trailers.insert("x-trailer", "last".parse().unwrap());
    send.send_trailers(trailers).unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_server_of_h2_is_asked() {
    let (mut near, far) = tokio::io::duplex(5_000);
    let server = tokio::spawn(async move {
        let mut connection = h2::server::handshake(far).await.unwrap();
        while let Some(accepted) = connection.accept().await {
            let (request, respond) = accepted.unwrap();
            tokio::spawn(echo_with_h2(request, respond));
        }
    });
    let mut machine = Http2Machine::client(&LIMITS, Duration::ZERO);
    let mut sending: BTreeMap<u32, EchoedBody> = BTreeMap::new();
    let mut received: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    for number in 0..SIZES.len() {
        let mut fields: FieldSection = section(&[
            (":method", "POST"),
            (":scheme", "https"),
            (":authority", "shop.example"),
            (":path", "/a"),
        ]);
        let more = extra(number);
        more.iter().for_each(|(name, value)| fields.push(name.as_bytes(), value.as_bytes()));
        let stream = machine.open_stream(&fields, false).unwrap();
        let waiting = BytesMut::from(&content(number)[..]);
        sending.insert(stream, EchoedBody { waiting, ended: true, done: false });
        received.insert(stream, Vec::new());
    }
    let mut ended = 0;
    while ended < SIZES.len() {
        sending.iter_mut().for_each(|(stream, body)| send(&mut machine, *stream, body));
        assert!(turn(&mut machine, &mut near).await);
        while let Some(event) = machine.next_event() {
            match event {
                Http2Event::Response { stream, fields, .. } => {
                    let number = (stream / 2) as usize;
                    for (name, value) in extra(number) {
                        assert_eq!(fields.get(name.as_bytes()), Some(value.as_bytes()));
                    }
                }
                Http2Event::Failed { code, .. } => panic!("{}", code.name()),
                Http2Event::Ended { stream, reset } => panic!("{stream} {reset:?}"),
                _ => {}
            }
        }
        for (stream, body) in &mut received {
            while let BodyPart::Data(piece) = machine.read_data(*stream) {
                machine.release(*stream, piece.len());
                body.extend_from_slice(&piece);
            }
            if let Some(trailers) = machine.take_trailers(*stream) {
                assert_eq!(trailers.get(b"x-trailer"), Some(&b"last"[..]));
                assert!(*body == content((*stream / 2) as usize), "stream {stream}");
                ended += 1;
            }
        }
    }
    drop(near);
    server.abort();
}
