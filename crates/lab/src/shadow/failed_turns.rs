//! Hosts of which the original answers some requests by a server and some by itself, while a server is dead: it asks nobody
//! else, so that each request's turn decides.
//!
//! Pure.

use std::collections::HashMap;

use super::failing_servers::meets_dead_servers;
use super::observation::StepObservation;
use super::request::ShadowRequest;

/// A host at a listener.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AskedHost {
    service: String,
    host: String,
}

/// What became of the requests for a host.
#[derive(Clone, Copy, Debug, Default)]
struct HostOutcomes {
    served: bool,
    failed: bool,
}

/// The outcomes of the requests that were sent while servers were dead.
#[derive(Debug, Default)]
pub struct FailedTurns {
    hosts: HashMap<AskedHost, HostOutcomes>,
}

impl FailedTurns {
    pub fn read(requests: &[ShadowRequest], theirs: &[Vec<StepObservation>]) -> FailedTurns {
        let mut turns = FailedTurns::default();
        for (request, steps) in requests.iter().zip(theirs) {
            let Some(asked) = asked_host(request) else { continue };
            let outcomes = turns.hosts.entry(asked).or_default();
            outcomes.served |= steps.iter().any(|step| step.server().is_some());
            outcomes.failed |= steps.iter().any(is_failed);
        }
        turns
    }

    /// Whether the turn of a request decides about its outcome.
    pub fn decide(&self, request: &ShadowRequest) -> bool {
        let outcomes = asked_host(request).and_then(|asked| self.hosts.get(&asked));
        outcomes.is_some_and(|outcomes| outcomes.served && outcomes.failed)
    }
}

/// Whether a balancer had no server for a request, and said so itself.
pub fn is_failed(step: &StepObservation) -> bool {
    step.server().is_none() && matches!(step.status, 502..=504)
}

fn asked_host(request: &ShadowRequest) -> Option<AskedHost> {
    let http = request.http().filter(|_| meets_dead_servers(request))?;
    Some(AskedHost { service: request.service.clone(), host: http.host.clone() })
}

#[cfg(test)]
mod tests {
    use super::super::observation::SeenRequest;
    use super::super::request::{HttpRequest, ShadowPayload};
    use super::*;

    fn request(host: &str, purpose: &str) -> ShadowRequest {
        ShadowRequest {
            payload: ShadowPayload::Http(HttpRequest {
                host: host.to_owned(),
                ..HttpRequest::default()
            }),
            purpose: purpose.to_owned(),
            ..ShadowRequest::sample()
        }
    }

    #[test]
    fn turns_decide_where_the_original_both_serves_and_fails_while_a_server_is_dead() {
        let dead = "the first server of each pool is dead";
        let served = || StepObservation {
            status: 200,
            served: vec![SeenRequest {
                server: "10.1.0.1:80".parse().unwrap(),
                method: "GET".into(),
                target: "/".into(),
                fields: Vec::new(),
                body_bytes: 0,
                proxy_header: false,
                tls: false,
            }],
            ..StepObservation::default()
        };
        let failed = || StepObservation { status: 502, ..StepObservation::default() };
        let requests = [
            request("mixed", dead),
            request("mixed", dead),
            request("served", dead),
            request("failed", dead),
            request("quiet", "host and path"),
            request("quiet", "host and path"),
        ];
        let theirs =
            [served(), failed(), served(), failed(), served(), failed()].map(|step| vec![step]);
        let turns = FailedTurns::read(&requests, &theirs);
        let decided: Vec<bool> = requests.iter().map(|request| turns.decide(request)).collect();
        assert_eq!(decided, [true, true, false, false, false, false]);
    }
}
