//! Reads manifests: texts with several documents, each an object or a list of objects. It opens no file.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::objects::kubernetes_object::KubernetesObject;
use crate::objects::references::GATEWAY_GROUP;
use crate::problems::ObjectProblem;
use crate::yaml_documents::read_documents;

/// The most objects of one manifest.
const OBJECTS_MAX: usize = 200_000;

/// What one text holds.
#[derive(Debug, Default)]
pub struct ManifestContents {
    pub objects: Vec<ManifestObject>,
    pub problems: Vec<ObjectProblem>,
    /// Kinds that are not looked at, each as `KIND NAMESPACE/NAME`.
    pub ignored: Vec<String>,
}

/// An object, and the file it came from.
#[derive(Clone, Debug)]
pub struct ManifestObject {
    pub object: KubernetesObject,
    /// The object as it was written, to compare it with another one of its name.
    pub written: Value,
    pub file: String,
}

/// Reads the objects of a text. `file` is for problems only.
pub fn read_manifest(text: &str, file: &str) -> ManifestContents {
    let mut contents = ManifestContents::default();
    let documents = match read_documents(text) {
        Ok(documents) => documents,
        Err(error) => {
            let problem = ObjectProblem::new(file, "", "", format!("it cannot be read: {error}"));
            contents.problems.push(problem);
            return contents;
        }
    };
    for document in documents {
        contents.read_object(document.value, file, document.line);
    }
    contents
}

impl ManifestContents {
    fn read_object(&mut self, value: Value, file: &str, line: usize) {
        if let Some(items) = list_items(&value) {
            for item in items.iter().cloned() {
                self.read_object(item, file, line);
            }
            return;
        }
        let label = object_label(&value, line);
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let version = text("apiVersion").to_owned();
        let kind = text("kind").to_owned();
        for (key, found) in [("apiVersion", &version), ("kind", &kind)] {
            if found.is_empty() {
                let problem = ObjectProblem::new(file, &label, key, "it is missing".to_owned());
                self.problems.push(problem.with_expected("the kind of an object of Kubernetes"));
                return;
            }
        }
        if self.objects.len() >= OBJECTS_MAX {
            let message = format!("more than {OBJECTS_MAX} objects");
            self.problems.push(ObjectProblem::new(file, &label, "", message));
            return;
        }
        match decode_object(&version, &kind, &value) {
            None => self.ignored.push(label),
            Some(Ok(object)) => {
                if let Err(error) = check_name(&object) {
                    self.problems.push(error.in_object(file, &label));
                    return;
                }
                let file = file.to_owned();
                self.objects.push(ManifestObject { object, written: value, file });
            }
            Some(Err(error)) => self.problems.push(error.in_object(file, &label)),
        }
    }
}

/// A field of an object that does not have the form it should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    pub field: String,
    pub message: String,
    pub expected: String,
}

impl FieldError {
    pub fn in_object(self, file: &str, object: &str) -> ObjectProblem {
        ObjectProblem::new(file, object, &self.field, self.message).with_expected(&self.expected)
    }
}

/// Decodes an object by its version and kind. `None`: the kind is not looked at.
pub fn decode_object(
    version: &str,
    kind: &str,
    value: &Value,
) -> Option<Result<KubernetesObject, FieldError>> {
    use KubernetesObject as Object;
    let group = version.split_once('/').map_or("", |parts| parts.0);
    Some(match (group, kind) {
        (GATEWAY_GROUP, "GatewayClass") => decode(value).map(Object::GatewayClass),
        (GATEWAY_GROUP, "Gateway") => decode(value).map(Object::Gateway),
        (GATEWAY_GROUP, "HTTPRoute") => decode(value).map(Object::HttpRoute),
        (GATEWAY_GROUP, "GRPCRoute") => decode(value).map(Object::GrpcRoute),
        (GATEWAY_GROUP, "TLSRoute") => decode(value).map(Object::TlsRoute),
        (GATEWAY_GROUP, "TCPRoute") => decode(value).map(Object::TcpRoute),
        (GATEWAY_GROUP, "ReferenceGrant") => decode(value).map(Object::ReferenceGrant),
        ("", "Service") => decode(value).map(Object::Service),
        ("", "Secret") => decode(value).map(Object::Secret),
        ("", "Namespace") => decode(value).map(Object::Namespace),
        ("networking.k8s.io", "Ingress") => decode(value).map(Object::Ingress),
        ("networking.k8s.io", "IngressClass") => decode(value).map(Object::IngressClass),
        ("discovery.k8s.io", "EndpointSlice") => decode(value).map(Object::EndpointSlice),
        _ => return None,
    })
}

/// Names become parts of paths and of other names, so that they are held to what the API server accepts
/// (RFC 1123 §2.1).
fn check_name(object: &KubernetesObject) -> Result<(), FieldError> {
    let key = object.metadata().key();
    let is_label = |label: &str| {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        label.bytes().all(inner)
            && !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let name_fits = key.name.len() <= 253 && key.name.split('.').all(is_label);
    let namespace_fits = key.namespace.len() <= 63 && is_label(&key.namespace);
    let expected = "small letters, digits, `-` and, in names, `.`".to_owned();
    let error = |field: &str, found: &str| {
        let [field, message] = [field.to_owned(), format!("`{found}` is no name")];
        Err(FieldError { field, message, expected: expected.clone() })
    };
    match (name_fits, namespace_fits) {
        (false, _) => error("metadata.name", &key.name),
        (_, false) => error("metadata.namespace", &key.namespace),
        _ => Ok(()),
    }
}

fn decode<T: DeserializeOwned>(value: &Value) -> Result<T, FieldError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let field = match error.path().to_string() {
            whole if whole == "." => String::new(),
            field => field,
        };
        let text = error.into_inner().to_string();
        let mut parts = text.splitn(2, ", expected ").map(str::to_owned);
        let message = parts.next().unwrap_or_default();
        FieldError { field, message, expected: parts.next().unwrap_or_default() }
    })
}

/// The items of a list such as `kubectl get -o yaml` prints.
fn list_items(value: &Value) -> Option<&[Value]> {
    let kind = value.get("kind")?.as_str()?;
    let items = value.get("items")?.as_array()?;
    kind.ends_with("List").then_some(items.as_slice())
}

/// `KIND NAMESPACE/NAME`, or the line where it has no name.
fn object_label(value: &Value, line: usize) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let kind = text(value.get("kind")).unwrap_or_else(|| "object".to_owned());
    let metadata = value.get("metadata");
    let of = |key: &str| text(metadata.and_then(|metadata| metadata.get(key)));
    match (of("namespace"), of("name")) {
        (Some(namespace), Some(name)) => format!("{kind} {namespace}/{name}"),
        (None, Some(name)) => format!("{kind} {name}"),
        _ => format!("{kind} at line {line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_names_file_object_field_and_what_was_expected() {
        let text = "\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: edge, namespace: shop }
spec:
  gatewayClassName: steelyard
  listeners:
  - { name: web, port: http, protocol: HTTP }
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: cart, namespace: shop }
spec: { hostname: [shop.example] }
---
kind: HTTPRoute
metadata: { name: lost }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
";
        let found = read_manifest(text, "shop.yaml");
        let problems: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "shop.yaml: Gateway shop/edge: spec.listeners[0].port: invalid type: string \"http\"; expected u16",
                "shop.yaml: HTTPRoute shop/cart: spec.hostname: unknown field `hostname`; expected one of `parentRefs`, `hostnames`, `rules`",
                "shop.yaml: HTTPRoute lost: apiVersion: it is missing; expected the kind of an object of Kubernetes",
            ]
        );
        assert_eq!(found.ignored, ["Deployment web"]);
        assert!(found.objects.is_empty());
    }

    #[test]
    fn lists_are_read_item_by_item() {
        let text = r#"{"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"},
             "spec": {"ports": [{"port": 80}]}}]}"#;
        let found = read_manifest(text, "all.json");
        assert_eq!(found.objects.len(), 2);
        assert!(found.problems.is_empty());
    }
}
