//! The usual form of a request's host and path, and whether a request in another form is answered as the one in the usual
//! form is.
//!
//! Pure. A difference in the form alone is told from one that the usual form has too.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};

use super::comparison::ServerPools;
use super::failed_turns::is_failed;
use super::hostile::decode_unreserved;
use super::observation::{ExchangeEnd, StepObservation};
use super::request::{ClientCertificate, RequestBody, ShadowRequest};

/// A name in small letters, without its port and its final dot.
pub fn usual_host(host: &str) -> String {
    let is_port = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
    let bare = host
        .rsplit_once(':')
        .filter(|(name, end)| is_port(end) && (!name.contains(':') || name.ends_with(']')));
    let name = bare.map_or(host, |(name, _)| name);
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// A target with one slash for several, without dot segments, parameters of segments and null bytes, and with letters and
/// slashes as themselves.
pub fn usual_target(target: &str) -> String {
    let decoded = decode_unreserved(target);
    let end = decoded.find('?').unwrap_or(decoded.len());
    let path = decoded[..end].replace("%2F", "/").replace("%2f", "/").replace("%00", "");
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/').map(|one| one.split(';').next().unwrap_or(one)) {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    let is_folder = ["/", "/.", "/.."].iter().any(|end| path.ends_with(end));
    let last = if is_folder && !segments.is_empty() { "/" } else { "" };
    format!("/{}{last}{}", segments.join("/"), &decoded[end..])
}

/// What decides about an answer, whatever version of HTTP asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AskedForm {
    to: SocketAddr,
    from: Option<IpAddr>,
    certificate: ClientCertificate,
    method: String,
    host: String,
    target: String,
}

/// Who answered, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FormOutcome {
    end: ExchangeEnd,
    status: u16,
    /// Empty: the balancer itself.
    pools: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct SideOutcomes {
    theirs: FormOutcome,
    ours: FormOutcome,
}

/// What became of the requests in their usual form.
#[derive(Debug, Default)]
pub struct UsualForms {
    outcomes: HashMap<AskedForm, SideOutcomes>,
}

impl UsualForms {
    pub fn read(
        requests: &[ShadowRequest],
        theirs: &[Vec<StepObservation>],
        ours: &[Vec<StepObservation>],
        pools: &ServerPools,
    ) -> UsualForms {
        let mut forms = UsualForms::default();
        for ((request, their), our) in requests.iter().zip(theirs).zip(ours) {
            let Some(asked) = asked_form(request, false) else { continue };
            if let ([their], [our]) = (their.as_slice(), our.as_slice())
                && asked_form(request, true).as_ref() == Some(&asked)
            {
                forms.outcomes.entry(asked).or_insert(SideOutcomes {
                    theirs: outcome(their, pools),
                    ours: outcome(our, pools),
                });
            }
        }
        forms
    }

    /// Whether both sides answer the usual form of this request alike, and ours this form as that one.
    pub fn decide(
        &self,
        request: &ShadowRequest,
        ours: &StepObservation,
        pools: &ServerPools,
    ) -> bool {
        let usual = asked_form(request, true).and_then(|usual| self.outcomes.get(&usual));
        usual.is_some_and(|usual| usual.theirs == usual.ours && outcome(ours, pools) == usual.ours)
    }
}

/// The status of every answer of a balancer that no server could be asked.
const FAILED: u16 = 502;

fn outcome(step: &StepObservation, pools: &ServerPools) -> FormOutcome {
    let of = step.server().and_then(|served| pools.get(&served.server));
    // Each program has its own status for servers that fail.
    let status = if is_failed(step) { FAILED } else { step.status };
    FormOutcome {
        end: step.end.clone(),
        status,
        pools: of.into_iter().flatten().map(|pool| pool.pool.clone()).collect(),
    }
}

/// A request as it was sent, or in its usual form.
fn asked_form(request: &ShadowRequest, is_usual: bool) -> Option<AskedForm> {
    let http = request.http().filter(|http| {
        http.fields.is_empty() && http.body == RequestBody::None && http.steps == 1
    })?;
    let usual_host = || usual_host(&http.host);
    Some(AskedForm {
        to: request.to,
        from: request.from,
        certificate: request.certificate,
        method: http.method.clone(),
        host: if is_usual { usual_host() } else { http.host.clone() },
        target: if is_usual { usual_target(&http.target) } else { http.target.clone() },
    })
}

#[cfg(test)]
mod tests {
    use super::super::observation::SeenRequest;
    use super::super::plan::PoolMembership;
    use super::super::request::{HttpRequest, ShadowPayload};
    use super::*;

    #[test]
    fn hosts_and_targets_have_one_usual_form() {
        for (host, usual) in [
            ("A.Example", "a.example"),
            ("a.example.:81", "a.example"),
            ("a.example.", "a.example"),
            ("[::1]", "[::1]"),
            ("[::1]:80", "[::1]"),
            ("::1", "::1"),
            ("a:b", "a:b"),
        ] {
            assert_eq!(usual_host(host), usual, "{host}");
        }
        for (target, usual) in [
            ("//admin/x?a=//b", "/admin/x?a=//b"),
            ("/./admin/", "/admin/"),
            ("/open/%2e%2e/admin", "/admin"),
            ("/../..", "/"),
            ("/%61dmin%2Fx", "/admin/x"),
            ("/admin;v=1/x;w", "/admin/x"),
            ("/admin%00", "/admin"),
            ("/a%20b", "/a%20b"),
        ] {
            assert_eq!(usual_target(target), usual, "{target}");
        }
    }

    fn request(host: &str, target: &str) -> ShadowRequest {
        ShadowRequest {
            payload: ShadowPayload::Http(HttpRequest {
                method: "GET".into(),
                host: host.into(),
                target: target.into(),
                steps: 1,
                ..HttpRequest::default()
            }),
            ..ShadowRequest::sample()
        }
    }

    #[test]
    fn only_what_the_usual_form_has_not_is_a_difference_of_the_form() {
        let address: SocketAddr = "10.0.0.1:80".parse().unwrap();
        let pool = PoolMembership { pool: "a".into(), backup: false };
        let pools: ServerPools = [(address, vec![pool])].into();
        let served = || StepObservation {
            end: ExchangeEnd::Answered,
            status: 200,
            served: vec![SeenRequest {
                server: address,
                method: "GET".into(),
                target: "/".into(),
                fields: Vec::new(),
                body_bytes: 0,
                proxy_header: false,
                tls: false,
            }],
            ..StepObservation::default()
        };
        let own = |status| StepObservation {
            end: ExchangeEnd::Answered,
            status,
            ..StepObservation::default()
        };
        let asked = [request("same", "/a"), request("closed", "/a"), request("dead", "/a")];
        let theirs = [vec![served()], vec![served()], vec![own(502)]];
        let ours = [vec![served()], vec![own(401)], vec![own(503)]];
        let forms = UsualForms::read(&asked, &theirs, &ours, &pools);
        for (host, target, ours, expected) in [
            ("SAME", "//a", served(), true),
            ("same", "/%61", own(404), false),
            ("CLOSED", "/a", own(401), false),
            ("other", "/a", served(), false),
            ("DEAD", "/a", own(503), true),
        ] {
            let found = forms.decide(&request(host, target), &ours, &pools);
            assert_eq!(found, expected, "{host} {target}");
        }
    }
}
