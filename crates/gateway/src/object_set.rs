//! All objects, by kind and name. The order in which they are added does not matter.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;

use crate::manifest::ManifestObject;
use crate::objects::gateways::{GatewayClass, GatewayObject};
use crate::objects::ingresses::{IngressClass, IngressObject};
use crate::objects::kubernetes_object::KubernetesObject;
use crate::objects::metadata::ObjectKey;
use crate::objects::references::ReferenceGrant;
use crate::objects::routes::{GrpcRoute, HttpRoute, StreamRoute};
use crate::objects::workloads::{
    EndpointSlice, NamespaceObject, SERVICE_NAME_LABEL, SecretObject, ServiceObject,
};
use crate::problems::ObjectProblem;

/// The objects of a cluster, or of a set of files.
#[derive(Clone, Debug, Default)]
pub struct ObjectSet {
    pub classes: BTreeMap<String, GatewayClass>,
    pub gateways: BTreeMap<ObjectKey, GatewayObject>,
    pub http_routes: BTreeMap<ObjectKey, HttpRoute>,
    pub grpc_routes: BTreeMap<ObjectKey, GrpcRoute>,
    pub tls_routes: BTreeMap<ObjectKey, StreamRoute>,
    pub tcp_routes: BTreeMap<ObjectKey, StreamRoute>,
    pub grants: BTreeMap<ObjectKey, ReferenceGrant>,
    pub services: BTreeMap<ObjectKey, ServiceObject>,
    /// By the key of their Service, then by their own name.
    pub slices: BTreeMap<ObjectKey, BTreeMap<String, EndpointSlice>>,
    pub secrets: BTreeMap<ObjectKey, SecretObject>,
    pub namespaces: BTreeMap<String, NamespaceObject>,
    pub ingresses: BTreeMap<ObjectKey, IngressObject>,
    pub ingress_classes: BTreeMap<String, IngressClass>,
}

impl ObjectSet {
    /// The objects of manifests. Two different objects of one name are a problem; the same one is taken whatever the
    /// order is.
    pub fn from_manifests(
        mut objects: Vec<ManifestObject>,
        problems: &mut Vec<ObjectProblem>,
    ) -> ObjectSet {
        objects.sort_by_cached_key(ObjectOrder::new);
        let mut set = ObjectSet::default();
        let mut last: Option<ObjectOrder> = None;
        for one in objects {
            let order = ObjectOrder::new(&one);
            let before = last.as_ref().filter(|before| before.is_same_object(&order));
            if let Some(before) = before {
                if before.digest != order.digest {
                    let label = format!("{} {}", order.kind, order.key);
                    let message = format!("another object of this name stands in {}", before.file);
                    problems.push(
                        ObjectProblem::new(&one.file, &label, "metadata.name", message)
                            .with_expected("each object once"),
                    );
                }
                continue;
            }
            last = Some(order);
            set.insert(one.object);
        }
        set
    }

    /// Adds an object, in the place of one of its kind and name.
    pub fn insert(&mut self, object: KubernetesObject) {
        let key = object.metadata().key();
        match object {
            KubernetesObject::GatewayClass(one) => drop(self.classes.insert(key.name, one)),
            KubernetesObject::Gateway(one) => drop(self.gateways.insert(key, one)),
            KubernetesObject::HttpRoute(one) => drop(self.http_routes.insert(key, one)),
            KubernetesObject::GrpcRoute(one) => drop(self.grpc_routes.insert(key, one)),
            KubernetesObject::TlsRoute(one) => drop(self.tls_routes.insert(key, one)),
            KubernetesObject::TcpRoute(one) => drop(self.tcp_routes.insert(key, one)),
            KubernetesObject::ReferenceGrant(one) => drop(self.grants.insert(key, one)),
            KubernetesObject::Service(one) => drop(self.services.insert(key, one)),
            KubernetesObject::Secret(one) => drop(self.secrets.insert(key, one)),
            KubernetesObject::Namespace(one) => drop(self.namespaces.insert(key.name, one)),
            KubernetesObject::Ingress(one) => drop(self.ingresses.insert(key, one)),
            KubernetesObject::IngressClass(one) => {
                self.ingress_classes.insert(key.name, one);
            }
            KubernetesObject::EndpointSlice(one) => {
                // A slice without the label belongs to no Service.
                if let Some(service) = one.metadata.labels.get(SERVICE_NAME_LABEL) {
                    let service = ObjectKey::new(&key.namespace, service);
                    self.slices.entry(service).or_default().insert(key.name, one);
                }
            }
        }
    }
}

/// The order of manifests' objects. Objects of one name are ordered by what they say, not by where they stand.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ObjectOrder {
    kind: &'static str,
    key: ObjectKey,
    digest: u64,
    file: String,
}

impl ObjectOrder {
    fn new(one: &ManifestObject) -> ObjectOrder {
        let mut hasher = SipHasher13::new();
        one.written.to_string().hash(&mut hasher);
        let digest = hasher.finish();
        let key = one.object.metadata().key();
        ObjectOrder { kind: one.object.kind(), key, digest, file: one.file.clone() }
    }

    fn is_same_object(&self, other: &ObjectOrder) -> bool {
        self.kind == other.kind && self.key == other.key
    }
}
