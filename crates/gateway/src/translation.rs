//! The translation: all objects in, the configuration and the status of each object out.

use std::collections::BTreeMap;

use model::config::check_text;

use crate::certificates::{KeyPairFile, SecretCertificates};
use crate::document::render_document;
use crate::draft_check::find_rejected;
use crate::gateways::{GatewayView, class_status, view_gateways};
use crate::ingress_service::plan_ingresses;
use crate::missing_objects::find_missing;
use crate::object_set::ObjectSet;
use crate::pools::PoolBook;
use crate::problems::ObjectProblem;
use crate::route_collection::{CollectedRoutes, collect_routes};
use crate::route_plan::RejectedRules;
use crate::service_assembly::{AssembledServices, assemble_services};
use crate::settings::GatewaySettings;
use crate::status::ObjectStatus;

/// How often the configuration is made again without the rules that its check refused.
const ROUNDS: usize = 3;

/// What the objects come to.
#[derive(Clone, Debug)]
pub struct GatewayTranslation {
    /// The configuration, which `steelyard check` accepts. `None`: no listener is served, or see the problems.
    pub configuration: Option<String>,
    /// The status of every object that is ours, by kind and name.
    pub statuses: Vec<ObjectStatus>,
    /// The files that the configuration names.
    pub certificates: Vec<KeyPairFile>,
    /// What has no condition to say it.
    pub problems: Vec<ObjectProblem>,
}

/// Translates all objects. The result depends on the objects and the settings alone.
pub fn translate(set: &ObjectSet, settings: &GatewaySettings) -> GatewayTranslation {
    let mut rejected = RejectedRules::new();
    for round in 1.. {
        let draft = translate_once(set, settings, &rejected);
        if draft.services.services.is_empty() {
            return draft.finish(set, None, Vec::new());
        }
        let text = render_document(&draft.services.services, &draft.pools.pools);
        let Err(findings) = check_text(&text, "gateway") else {
            return draft.finish(set, Some(text), Vec::new());
        };
        let before = rejected.clone();
        find_rejected(&draft.services, &draft.pools, &mut rejected);
        if round >= ROUNDS || rejected == before {
            let first = findings.errors().next();
            let reason =
                first.map_or_else(String::new, |one| format!("{}: {}", one.key, one.message));
            let message = format!("the configuration would not be accepted: {reason}");
            let problem = ObjectProblem::new("", "", "", message);
            return draft.finish(set, None, vec![problem]);
        }
    }
    translate_once(set, settings, &rejected).finish(set, None, Vec::new())
}

/// One attempt.
struct TranslationDraft {
    statuses: Vec<ObjectStatus>,
    services: AssembledServices,
    pools: PoolBook,
    certificates: BTreeMap<String, KeyPairFile>,
}

fn translate_once(
    set: &ObjectSet,
    settings: &GatewaySettings,
    rejected: &RejectedRules,
) -> TranslationDraft {
    let mut certificates = SecretCertificates::new(&settings.certificate_directory);
    let gateways = view_gateways(set, settings, &mut certificates);
    let routes = collect_routes(set, &gateways, rejected);
    let mut pools = PoolBook::new();
    let ingresses = plan_ingresses(set, settings, &mut certificates, rejected);
    let mut services = assemble_services(&gateways, &routes, &ingresses, settings, &mut pools);
    services.problems.extend(ingresses.problems);
    let mut statuses: Vec<ObjectStatus> =
        set.classes.values().filter_map(|class| class_status(class, settings)).collect();
    statuses.extend(gateway_statuses(&gateways, &routes));
    let all = routes.attached.iter();
    statuses.extend(all.filter_map(|route| route.status(&settings.controller_name)));
    statuses.sort_by(|a, b| {
        let order =
            |one: &ObjectStatus| [one.kind.to_owned(), one.namespace.clone(), one.name.clone()];
        order(a).cmp(&order(b))
    });
    TranslationDraft { statuses, services, pools, certificates: certificates.files }
}

fn gateway_statuses(gateways: &[GatewayView], routes: &CollectedRoutes) -> Vec<ObjectStatus> {
    let mut attached: Vec<Vec<usize>> =
        gateways.iter().map(|gateway| vec![0; gateway.listeners.len()]).collect();
    for route in &routes.attached {
        for place in route.accepted_attachments().keys() {
            attached[place.gateway][place.listener] += 1;
        }
    }
    gateways.iter().zip(attached).map(|(gateway, counts)| gateway.status(&counts)).collect()
}

impl TranslationDraft {
    fn finish(
        self,
        set: &ObjectSet,
        configuration: Option<String>,
        mut problems: Vec<ObjectProblem>,
    ) -> GatewayTranslation {
        problems.extend(self.services.problems);
        problems.extend(find_missing(set));
        let used = |file: &KeyPairFile| {
            configuration.as_ref().is_some_and(|text| text.contains(&format!("\"{}\"", file.path)))
        };
        let certificates = self.certificates.into_values().filter(used).collect();
        GatewayTranslation { configuration, statuses: self.statuses, certificates, problems }
    }
}
