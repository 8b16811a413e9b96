//! Converts a type's definition to a JSON Schema (2020-12) of its serde format, with its documentation.
//!
//! Only the attributes that the contract uses are supported.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use syn::{
    Attribute, Expr, ExprLit, Field, Fields, GenericArgument, Item, ItemEnum, ItemStruct, Lit,
    PathArguments, Type,
};

use super::source::{SerdeType, TypeIndex};

/// Schemas by name, of all requested types and the types that they use.
pub struct SchemaSet<'s> {
    source: &'s TypeIndex,
    /// The schemas so far.
    pub schemas: BTreeMap<String, Value>,
}

/// The serde attributes of a type or field.
#[derive(Debug, Default)]
struct SerdeAttributes {
    rename: Option<String>,
    kebab: bool,
    kebab_fields: bool,
    tag: Option<String>,
    defaulted: bool,
    flatten: bool,
    skipped_if: bool,
    /// The type that is written in its place.
    into: Option<String>,
    /// An earlier name.
    alias: Option<String>,
}

impl<'s> SchemaSet<'s> {
    pub fn new(source: &'s TypeIndex) -> SchemaSet<'s> {
        SchemaSet { source, schemas: BTreeMap::new() }
    }

    /// The source of the types.
    pub fn source(&self) -> &'s TypeIndex {
        self.source
    }

    /// A reference to the schema of the type that `name` means in the file `within`.
    ///
    /// # Errors
    /// The type does not exist, or its form is unknown.
    pub fn reference(&mut self, name: &str, within: &str) -> Result<Value, String> {
        let found = self.source.find(name, within)?.clone();
        if !self.schemas.contains_key(&found.name) {
            // Inserted before its definition, because a type may contain itself.
            self.schemas.insert(found.name.clone(), Value::Null);
            let schema = self.define(&found)?;
            self.schemas.insert(found.name.clone(), schema);
        }
        Ok(json!({ "$ref": format!("#/components/schemas/{}", found.name) }))
    }

    fn define(&mut self, found: &SerdeType) -> Result<Value, String> {
        match &found.item {
            Item::Struct(one) => self.structure(one, &found.path),
            Item::Enum(one) => self.enumeration(one, &found.path),
            _ => Err(format!("{}: {} is neither struct nor enum", found.path, found.name)),
        }
    }

    fn structure(&mut self, one: &ItemStruct, path: &str) -> Result<Value, String> {
        let told = serde(&one.attrs)?;
        let Fields::Named(fields) = &one.fields else {
            return Err(format!("{path}: {} has fields without names", one.ident));
        };
        let fields: Vec<&Field> = fields.named.iter().collect();
        self.object(&fields, &told, told.kebab, &one.attrs, path)
    }

    fn object(
        &mut self,
        fields: &[&Field],
        told: &SerdeAttributes,
        kebab: bool,
        attributes: &[Attribute],
        path: &str,
    ) -> Result<Value, String> {
        let mut properties = Map::new();
        let mut required = Vec::new();
        let mut besides = Vec::new();
        for field in fields {
            let own = serde(&field.attrs)?;
            let schema = self.kind(&field.ty, path)?;
            if own.flatten {
                match self.flat(&schema) {
                    Some((inner, needs)) => {
                        properties.extend(inner);
                        required.extend(needs);
                    }
                    None => besides.push(schema),
                }
                continue;
            }
            let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
            let name = own.rename.clone().unwrap_or_else(|| cased(&name, kebab));
            if !(told.defaulted || own.defaulted || own.skipped_if || is_option(&field.ty)) {
                required.push(json!(name));
            }
            let mut schema = with_doc(schema, &field.attrs);
            if let Some(earlier) = own.alias {
                schema["x-earlier-name"] = json!(earlier);
            }
            properties.insert(name, schema);
        }
        let mut object = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            object["required"] = Value::Array(required);
        }
        if !besides.is_empty() {
            besides.push(object);
            object = json!({ "allOf": besides });
        }
        Ok(with_doc(object, attributes))
    }

    /// The properties of a flattened object, and the names of the required ones.
    fn flat(&self, reference: &Value) -> Option<(Map<String, Value>, Vec<Value>)> {
        let name = reference["$ref"].as_str()?.rsplit('/').next()?;
        let schema = self.schemas.get(name)?;
        let needs = schema["required"].as_array().cloned().unwrap_or_default();
        Some((schema["properties"].as_object()?.clone(), needs))
    }

    fn enumeration(&mut self, one: &ItemEnum, path: &str) -> Result<Value, String> {
        let told = serde(&one.attrs)?;
        if one.variants.iter().all(|variant| matches!(variant.fields, Fields::Unit))
            && told.tag.is_none()
        {
            let mut names = Vec::new();
            for variant in &one.variants {
                let own = serde(&variant.attrs)?;
                let name = variant.ident.to_string();
                names.push(
                    own.rename.unwrap_or_else(|| if told.kebab { kebab(&name) } else { name }),
                );
            }
            return Ok(with_doc(json!({ "type": "string", "enum": names }), &one.attrs));
        }
        let mut forms = Vec::new();
        for variant in &one.variants {
            let name = kebab(&variant.ident.to_string());
            let fields: Vec<&Field> = variant.fields.iter().collect();
            let plain = SerdeAttributes::default();
            let mut form = match (&variant.fields, &told.tag) {
                (Fields::Unnamed(_), None) if fields.len() == 1 => {
                    self.kind(&fields[0].ty, path)?
                }
                (Fields::Unnamed(_), _) => {
                    return Err(format!("{path}: {name} has values without names"));
                }
                (Fields::Unit, None) => {
                    forms.push(with_doc(json!({ "const": name }), &variant.attrs));
                    continue;
                }
                _ => self.object(&fields, &plain, told.kebab_fields, &variant.attrs, path)?,
            };
            // The variant's name is a key beside the fields, or the key around them.
            if let Some(tag) = &told.tag {
                form["properties"][tag] = json!({ "const": name });
                let mut needs = form["required"].as_array().cloned().unwrap_or_default();
                needs.insert(0, json!(tag));
                form["required"] = Value::Array(needs);
            } else {
                let mut around = json!({ "type": "object", "properties": {}, "required": [name] });
                around["properties"][&name] = form;
                form = with_doc(around, &variant.attrs);
            }
            forms.push(form);
        }
        Ok(with_doc(json!({ "oneOf": forms }), &one.attrs))
    }

    fn kind(&mut self, ty: &Type, path: &str) -> Result<Value, String> {
        if let Type::Tuple(tuple) = ty {
            let items: Result<Vec<Value>, String> =
                tuple.elems.iter().map(|one| self.kind(one, path)).collect();
            let length = tuple.elems.len();
            return Ok(
                json!({ "type": "array", "prefixItems": items?, "minItems": length, "maxItems": length }),
            );
        }
        if let Type::Array(array) = ty
            && let Expr::Lit(ExprLit { lit: Lit::Int(length), .. }) = &array.len
        {
            let length: u64 = length.base10_parse().map_err(|error| format!("{path}: {error}"))?;
            let items = self.kind(&array.elem, path)?;
            return Ok(
                json!({ "type": "array", "items": items, "minItems": length, "maxItems": length }),
            );
        }
        let Some((name, inner)) = named(ty) else {
            return Err(format!("{path}: a type of a form that is not known"));
        };
        let inner =
            |at: usize| inner.get(at).copied().ok_or_else(|| format!("{path}: {name} of nothing"));
        Ok(match name.as_str() {
            "String" | "str" => json!({ "type": "string" }),
            "bool" => json!({ "type": "boolean" }),
            "f64" | "f32" => json!({ "type": "number" }),
            "u8" | "u16" | "u32" | "u64" | "usize" => json!({ "type": "integer", "minimum": 0 }),
            "i8" | "i16" | "i32" | "i64" => json!({ "type": "integer" }),
            "IpAddr" => json!({ "type": "string", "description": "An IPv4 or IPv6 address." }),
            "SocketAddr" => json!({ "type": "string", "description": "An address and a port." }),
            "Box" | "Arc" => self.kind(inner(0)?, path)?,
            "Vec" => json!({ "type": "array", "items": self.kind(inner(0)?, path)? }),
            "BTreeMap" | "HashMap" => {
                json!({ "type": "object", "additionalProperties": self.kind(inner(1)?, path)? })
            }
            "Option" => {
                let schema = self.kind(inner(0)?, path)?;
                match schema["type"].as_str().map(ToOwned::to_owned) {
                    Some(kind) => {
                        let mut schema = schema;
                        schema["type"] = json!([kind, "null"]);
                        schema
                    }
                    None => json!({ "anyOf": [schema, { "type": "null" }] }),
                }
            }
            other => match self.written_form(other, path)? {
                Some(ty) => self.kind(&ty, path)?,
                None => self.reference(other, path)?,
            },
        })
    }

    /// The type that serde writes in place of a type, if that has another form.
    fn written_form(&self, name: &str, within: &str) -> Result<Option<Type>, String> {
        let found = self.source.find(name, within)?;
        let Item::Struct(one) = &found.item else { return Ok(None) };
        let Some(form) = serde(&one.attrs)?.into else { return Ok(None) };
        syn::parse_str(&form).map(Some).map_err(|error| format!("{within}: {name}: {error}"))
    }
}

/// A type's last name and its generic arguments.
fn named(ty: &Type) -> Option<(String, Vec<&Type>)> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let inner = match &last.arguments {
        PathArguments::AngleBracketed(inside) => inside
            .args
            .iter()
            .filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    Some((last.ident.to_string(), inner))
}

fn is_option(ty: &Type) -> bool {
    named(ty).is_some_and(|(name, _)| name == "Option")
}

fn serde(attributes: &[Attribute]) -> Result<SerdeAttributes, String> {
    let mut told = SerdeAttributes::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        let read = attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            let value = match meta.value() {
                Ok(value) => value.parse::<syn::LitStr>()?.value(),
                Err(_) => String::new(),
            };
            match name.as_str() {
                "rename" => told.rename = Some(value),
                "rename_all" if value == "kebab-case" => told.kebab = true,
                "rename_all_fields" if value == "kebab-case" => told.kebab_fields = true,
                "tag" => told.tag = Some(value),
                "default" => told.defaulted = true,
                "flatten" => told.flatten = true,
                "skip_serializing_if" => told.skipped_if = true,
                "into" => told.into = Some(value),
                // What is read has the form of what is written.
                "from" => {}
                // Read, and written where a request asks for it.
                // The same type, with another text.
                "serialize_with" if value == "crate::plain_text::serialize" => {}
                "alias" => told.alias = Some(value),
                other => return Err(meta.error(format!("serde's `{other}` is not known here"))),
            }
            Ok(())
        });
        read.map_err(|error| error.to_string())?;
    }
    Ok(told)
}

fn with_doc(mut schema: Value, attributes: &[Attribute]) -> Value {
    let lines = attributes.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let text: Vec<String> = lines
        .filter_map(|line| match &line.meta.require_name_value().ok()?.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        })
        .collect();
    if !text.is_empty() {
        schema["description"] = json!(text.join(" "));
    }
    schema
}

fn cased(field: &str, kebab: bool) -> String {
    if kebab { field.replace('_', "-") } else { field.to_owned() }
}

/// A variant's name as serde writes it in kebab-case.
fn kebab(variant: &str) -> String {
    let mut out = String::new();
    for (at, c) in variant.chars().enumerate() {
        if c.is_uppercase() && at > 0 {
            out.push('-');
        }
        out.extend(c.to_lowercase());
    }
    out
}
