//! Routes that explain a capture, sent or stored: one at a time, in a thread that yields to all others.
//!
//! The analysis crate interprets the captures; this module has the reads, limits and errors. Reading stops when the
//! client disconnects; until then the read occupies its place.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use api::routes::{CAPTURE_BYTES_MAX, HTML};
use api::types::{CaptureQuery, TraceQuery};
use axum::body::{Body, to_bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use rustix::process::setpriority_process;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use trace::analysis::{Analysis, AnalysisSettings};
use trace::ingest::ingest_capture;
use trace::input::CaptureDamage;
use trace::render::page;
use trace::report_builder::{self, CaptureSource};

use super::context::ApiContext;
use super::problem::ApiProblem;

/// Captures that are explained at a time.
static PLACES: Semaphore = Semaphore::const_new(1);
/// Bounds the connections of a report: the memory comes from the balancing process.
const CONNECTIONS: usize = 20_000;
/// Bounds the packets held in memory at once, for the same reason.
const EVENTS: usize = 250_000;
/// The lowest priority that there is.
/// The analysis gives way to all other work of the host (setpriority(2)).
const LAST: i32 = 19;
/// How packed captures begin (RFC 1952 §2.3.1).
const PACKED: [u8; 2] = [0x1f, 0x8b];

pub(super) async fn explain_upload(
    query: Result<Query<TraceQuery>, QueryRejection>,
    body: Body,
) -> Result<Response, ApiProblem> {
    let Query(query) = query?;
    // Before the body is read: it may be large.
    let place = PLACES.try_acquire().map_err(|_| busy_problem())?;
    let bytes = to_bytes(body, CAPTURE_BYTES_MAX).await.map_err(|_| {
        let detail = format!("a capture has at most {CAPTURE_BYTES_MAX} bytes here");
        ApiProblem::new(413, "capture", detail)
            .with_hint("`steelyard explain trace FILE` takes any")
    })?;
    if bytes.starts_with(&PACKED) {
        let refusal = ApiProblem::new(415, "capture", "the capture is packed");
        return Err(refusal.with_hint("unpack it with gunzip"));
    }
    let name = query.name.unwrap_or_else(|| "capture".to_owned());
    explain_capture(name, move || Ok(Cursor::new(bytes.clone())), query.connection, place).await
}

pub(super) async fn explain_stored(
    State(context): State<Arc<ApiContext>>,
    query: Result<Query<CaptureQuery>, QueryRejection>,
) -> Result<Response, ApiProblem> {
    let Query(query) = query?;
    let place = PLACES.try_acquire().map_err(|_| busy_problem())?;
    let vitals = Arc::clone(&context.report_sources);
    // The disk may take its time.
    let stored = tokio::task::spawn_blocking(move || vitals.captures.stored()).await;
    let matched_capture =
        stored.unwrap_or_default().captures.into_iter().find(|capture| capture.name == query.name);
    let matched_capture = matched_capture.ok_or_else(|| {
        ApiProblem::new(
            404,
            "no-capture",
            format!("there is no capture '{}'", sanitize_name(&query.name)),
        )
        .with_hint("`steelyard capture list` has those that are stored")
    })?;
    explain_capture(
        matched_capture.name,
        move || capture_path(&matched_capture.file),
        query.connection,
        place,
    )
    .await
}

/// Opens a capture that this daemon wrote. Ownership is checked a second time, because another file may have replaced
/// the capture.
fn capture_path(file: &Path) -> std::io::Result<File> {
    files::owned_file::open(file)?.ok_or_else(|| std::io::ErrorKind::NotFound.into())
}

/// Renders the page of a capture. `open` is called twice: once for the findings, once for the packets of one
/// connection.
async fn explain_capture<R: Read + 'static>(
    name: String,
    open: impl Fn() -> std::io::Result<R> + Send + 'static,
    connection: Option<u32>,
    place: SemaphorePermit<'static>,
) -> Result<Response, ApiProblem> {
    let (result_sender, result) = oneshot::channel();
    let waited = Arc::new(CancelFlag::default());
    let _waits = CancelOnDrop(Arc::clone(&waited));
    let begun = std::thread::Builder::new().name("explain".to_owned()).spawn(move || {
        // Refused: it is as important as the rest of control work, and no more.
        let _ = setpriority_process(None, LAST);
        let open =
            || open().map(|from| CancellableReader { reader: from, cancel: Arc::clone(&waited) });
        let drawn = render_page(&sanitize_name(&name), &open, connection, &waited);
        // The place is free as soon as the response is complete, before the client has read it.
        drop(place);
        // An error means that the client has disconnected, so no one needs the page.
        let _ = result_sender.send(drawn);
    });
    begun.map_err(|error| ApiProblem::new(500, "capture", format!("no thread: {error}")))?;
    let page =
        result.await.map_err(|_| ApiProblem::new(500, "capture", "the analysis ended early"))??;
    let kind = HeaderValue::from_static(HTML);
    Ok(([(header::CONTENT_TYPE, kind)], page).into_response())
}

/// Whether the answer is still waited for.
#[derive(Debug, Default)]
struct CancelFlag(AtomicBool);

impl CancelFlag {
    fn check_cancelled(&self) -> Result<(), ApiProblem> {
        if self.0.load(Ordering::Relaxed) {
            Err(unreadable_problem("nobody waits for it"))
        } else {
            Ok(())
        }
    }
}

/// Waits for the answer for as long as it lives: a client that leaves takes it along.
struct CancelOnDrop(Arc<CancelFlag>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// A capture that ends when its answer is not waited for.
struct CancellableReader<R> {
    reader: R,
    cancel: Arc<CancelFlag>,
}

impl<R: Read> Read for CancellableReader<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.cancel.check_cancelled().is_err() { Ok(0) } else { self.reader.read(into) }
    }
}

fn render_page<R: Read>(
    name: &str,
    open: &impl Fn() -> std::io::Result<R>,
    connection: Option<u32>,
    waited: &CancelFlag,
) -> Result<String, ApiProblem> {
    let (analysis, source) = analyse_capture(name, open, None)?;
    waited.check_cancelled()?;
    let report = report_builder::build_report(analysis.finish(), source);
    let shown = connection.or(report.verdict.shown()).or_else(|| report.slowest());
    let number = shown.ok_or_else(|| unreadable_problem("it has no TCP connection"))?;
    let (analysis, _) = analyse_capture(name, open, Some(number))?;
    waited.check_cancelled()?;
    let scene = analysis.scene(number).ok_or_else(|| {
        let detail = format!("no connection {number}; there are {}", report.connections_total);
        ApiProblem::new(404, "no-connection", detail)
    })?;
    Ok(page::draw_connection(&scene, &report).page)
}

fn analyse_capture<R: Read>(
    name: &str,
    open: &impl Fn() -> std::io::Result<R>,
    only: Option<u32>,
) -> Result<(Analysis, CaptureSource), ApiProblem> {
    let settings = AnalysisSettings {
        only,
        max_connections: CONNECTIONS,
        max_events: EVENTS,
        ..AnalysisSettings::default()
    };
    let mut analysis = Analysis::new(settings);
    let mut source = CaptureSource::default();
    let from = open().map_err(|error| unreadable_problem(&error.to_string()))?;
    // Damage after the first packets is reported on the page, not as an error.
    ingest_capture(&mut analysis, &mut source, name, from, |_| ())
        .map_err(|damage: CaptureDamage| unreadable_problem(&damage.to_string()))?;
    Ok((analysis, source))
}

fn unreadable_problem(why: &str) -> ApiProblem {
    ApiProblem::new(422, "capture", format!("this capture cannot be explained: {why}"))
}

fn busy_problem() -> ApiProblem {
    ApiProblem::new(503, "busy", "another capture is being explained").with_hint("try again soon")
}

/// Makes a capture's name, as the client sent it, safe to print and short.
fn sanitize_name(name: &str) -> String {
    // 120 characters hold a usual file name and keep a line readable.
    name.chars().filter(|c| !c.is_control()).take(120).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// An endless source of bytes, which reports each read.
    struct EndlessReader(std::sync::mpsc::Sender<()>);

    impl Read for EndlessReader {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let _ = self.0.send(());
            into.fill(0);
            // A capture's head (libpcap, version 2.4), then empty packets.
            Ok(into.len())
        }
    }

    #[tokio::test]
    async fn reading_ends_and_the_place_is_free_when_the_client_has_left() {
        let (sent, reads) = std::sync::mpsc::channel();
        let place = PLACES.try_acquire().unwrap();
        let head =
            [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
        let open = move || Ok(Cursor::new(head).chain(EndlessReader(sent.clone())));
        let request = tokio::spawn(explain_capture("endless".to_owned(), open, None, place));
        tokio::task::spawn_blocking(move || reads.recv_timeout(Duration::from_secs(30)))
            .await
            .unwrap()
            .unwrap();
        assert!(PLACES.try_acquire().is_err(), "it is at work");
        request.abort();
        let free = tokio::time::timeout(Duration::from_secs(30), PLACES.acquire()).await;
        assert!(free.is_ok(), "it goes on");
    }
}
