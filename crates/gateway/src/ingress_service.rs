//! Ingresses: the services of ports 80 and 443 with the paths of all of them.

use crate::backends::{
    BackendProtocol, BackendUser, ConditionFailure, ResolvedBackend, resolve_backend,
};
use crate::certificates::SecretCertificates;
use crate::host_names::is_host_name;
use crate::http_rows::{ListenerScheme, RankedRule, RouteAtListener, write_route};
use crate::listeners::RouteKind;
use crate::object_set::ObjectSet;
use crate::objects::ingresses::{IngressBackend, IngressObject, IngressPath};
use crate::objects::metadata::ObjectKey;
use crate::objects::references::{BackendReference, SecretReference};
use crate::objects::routes::{HttpRouteMatch, PathValue};
use crate::pools::PoolBook;
use crate::problems::ObjectProblem;
use crate::route_plan::{
    BranchPlan, ForwardPlan, NumberedMatch, PlannedAction, RejectedRules, RoutePlan, RuleIdentity,
    RulePlan,
};
use crate::rule_filters::FilterPlan;
use crate::rule_match::plan_http_match;
use crate::settings::GatewaySettings;
use crate::toml_text::ConfigEntry;

/// All Ingresses of ours, planned.
#[derive(Debug, Default)]
pub struct IngressPlans {
    hosts: Vec<HostPlan>,
    /// The paths of certificates.
    pub certificates: Vec<String>,
    /// What is not as it was wanted: an Ingress has no conditions.
    pub problems: Vec<ObjectProblem>,
}

/// The rules of an Ingress for one host.
#[derive(Debug)]
struct HostPlan {
    age: crate::objects::metadata::ObjectAge,
    host: Option<String>,
    plan: RoutePlan,
}

pub fn plan_ingresses(
    set: &ObjectSet,
    settings: &GatewaySettings,
    certificates: &mut SecretCertificates,
    rejected: &RejectedRules,
) -> IngressPlans {
    let mut plans = IngressPlans::default();
    let ours = set.ingresses.values().filter(|ingress| is_ours(set, settings, ingress));
    for ingress in ours {
        let planner = IngressPlanner { set, ingress, rejected, key: ingress.metadata.key() };
        planner.plan(certificates, &mut plans);
    }
    plans
}

/// Whether an Ingress is this controller's.
fn is_ours(set: &ObjectSet, settings: &GatewaySettings, ingress: &IngressObject) -> bool {
    let mut ours = set
        .ingress_classes
        .values()
        .filter(|class| class.spec.controller == settings.ingress_controller_name);
    match ingress.class() {
        Some(name) => ours.any(|class| class.metadata.name == name),
        None => ours.any(|class| class.is_default()),
    }
}

impl IngressPlans {
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The rules for a listener of all hosts.
    pub fn write_rows(&self, scheme: ListenerScheme, pools: &mut PoolBook) -> Vec<RankedRule> {
        let mut rows = Vec::new();
        for one in &self.hosts {
            let hosts = [one.host.clone()];
            let route = RouteAtListener { plan: &one.plan, age: &one.age, hosts: &hosts, scheme };
            let mut written = write_route(&route, pools);
            // A wildcard of an Ingress stands for one label, that of the configuration for several.
            if let Some(suffix) = one.host.as_ref().and_then(|host| host.strip_prefix("*.")) {
                let expression = format!("[^.]+\\.{}", suffix.replace('.', "\\."));
                let criterion = ConfigEntry::text("host-regex", &expression);
                written.iter_mut().for_each(|row| row.criteria.push(criterion.clone()));
            }
            rows.extend(written);
        }
        rows
    }
}

struct IngressPlanner<'a> {
    set: &'a ObjectSet,
    ingress: &'a IngressObject,
    rejected: &'a RejectedRules,
    key: ObjectKey,
}

impl IngressPlanner<'_> {
    fn plan(&self, certificates: &mut SecretCertificates, plans: &mut IngressPlans) {
        for name in self.ingress.foreign_annotations() {
            let field = format!("metadata.annotations[{name}]");
            let problem = self.problem(&field, "the annotation is not read".to_owned());
            plans.problems.push(problem.with_expected("none that other controllers define"));
        }
        for (at, tls) in self.ingress.spec.tls.iter().enumerate() {
            let Some(name) = &tls.secret_name else { continue };
            let reference =
                SecretReference { group: None, kind: None, namespace: None, name: name.clone() };
            match certificates.resolve(self.set, &self.key, &reference) {
                Ok(path) if plans.certificates.contains(&path) => {}
                Ok(path) => plans.certificates.push(path),
                Err(failure) => {
                    let field = format!("spec.tls[{at}].secretName");
                    plans.problems.push(self.problem(&field, failure.message));
                }
            }
        }
        let mut number = 0;
        for (at, rule) in self.ingress.spec.rules.iter().enumerate() {
            let host = rule.host.as_ref().filter(|host| !host.is_empty());
            if let Some(host) = host.filter(|host| !is_host_name(host)) {
                let field = format!("spec.rules[{at}].host");
                plans.problems.push(self.problem(&field, format!("`{host}` is no host name")));
                continue;
            }
            let mut rules = Vec::new();
            let paths = rule.http.as_ref().map_or(&[][..], |http| http.paths.as_slice());
            for (path_at, path) in paths.iter().enumerate() {
                number += 1;
                let field = format!("spec.rules[{at}].http.paths[{path_at}]");
                rules.push(self.plan_path(path, number, &field, plans));
            }
            self.push(host.map(|host| host.to_ascii_lowercase()), rules, plans);
        }
        if let Some(backend) = &self.ingress.spec.default_backend {
            let path = IngressPath {
                path: Some("/".to_owned()),
                path_type: "Prefix".to_owned(),
                backend: backend.clone(),
            };
            let rule = self.plan_path(&path, number + 1, "spec.defaultBackend", plans);
            self.push(None, vec![rule], plans);
        }
    }

    fn push(&self, host: Option<String>, rules: Vec<RulePlan>, plans: &mut IngressPlans) {
        let plan = RoutePlan { rules, unresolved: Vec::new() };
        plans.hosts.push(HostPlan { age: self.ingress.metadata.age(), host, plan });
    }

    fn plan_path(
        &self,
        path: &IngressPath,
        number: usize,
        field: &str,
        plans: &mut IngressPlans,
    ) -> RulePlan {
        let kind = match path.path_type.as_str() {
            "Exact" => "Exact",
            "Prefix" | "ImplementationSpecific" => "PathPrefix",
            // No path is compared in a way that nobody wrote.
            other => other,
        };
        let value = PathValue { kind: Some(kind.to_owned()), value: path.path.clone() };
        let wanted = HttpRouteMatch { path: Some(value), ..HttpRouteMatch::default() };
        let target = self.resolve(&path.backend);
        if let Err(failure) = &target {
            plans.problems.push(self.problem(field, failure.message.clone()));
        }
        let identity = RuleIdentity { kind: RouteKind::Ingress, route: self.key.clone(), number };
        let forward = ForwardPlan {
            branches: vec![BranchPlan { weight: 1, target, filters: FilterPlan::default() }],
            filters: FilterPlan::default(),
            mirror: None,
            timing: Vec::new(),
        };
        let mut outcome = Ok(PlannedAction::Forward(forward));
        let rejection = self.rejected.get(&identity);
        let mut matches = Vec::new();
        match plan_http_match(&wanted) {
            Ok(_) if rejection.is_some_and(|found| found.matches.contains(&0)) => {}
            Ok(plan) => matches.push(NumberedMatch { number: 0, plan }),
            Err(failure) => outcome = Err(failure),
        }
        if let Some(rejection) = rejection {
            outcome = Err(ConditionFailure::new("UnsupportedValue", &rejection.reason));
        }
        if let Err(failure) = &outcome {
            plans.problems.push(self.problem(field, failure.message.clone()));
        }
        RulePlan { identity, label: number.to_string(), matches, outcome }
    }

    fn resolve(&self, backend: &IngressBackend) -> Result<ResolvedBackend, ConditionFailure> {
        let Some(service) = &backend.service else {
            let message = "the back end is no Service";
            return Err(ConditionFailure::new("InvalidKind", message));
        };
        let key = ObjectKey::new(&self.key.namespace, &service.name);
        let ports = self.set.services.get(&key).map(|found| &found.spec.ports);
        let by_name = service.port.name.as_ref().and_then(|name| {
            let port = ports?.iter().find(|port| port.name.as_ref() == Some(name))?;
            Some(port.port)
        });
        if let Some(name) = service.port.name.as_ref().filter(|_| by_name.is_none()) {
            let message = format!("there is no Service {key} with a port {name}");
            return Err(ConditionFailure::new("BackendNotFound", message));
        }
        let user = BackendUser {
            kind: RouteKind::Ingress.name(),
            namespace: &self.key.namespace,
            protocol: BackendProtocol::Http1,
        };
        let reference = BackendReference {
            group: None,
            kind: None,
            namespace: None,
            name: service.name.clone(),
            port: by_name.or(service.port.number),
        };
        resolve_backend(self.set, &user, &reference)
    }

    fn problem(&self, field: &str, message: String) -> ObjectProblem {
        ObjectProblem::new("", &format!("Ingress {}", self.key), field, message)
    }
}
