//! Finds the serialised types: structs and enums with serde's derives, by name, in the source of `api` and `model`.
//!
//! This module reads the definitions without interpreting them.

use std::collections::BTreeMap;

use syn::{Attribute, Item, UseTree};

use crate::tree::SourceTree;

/// A type and its definition.
#[derive(Clone)]
pub struct SerdeType {
    /// The type's name in the document.
    pub name: String,
    /// The file that defines it.
    pub path: String,
    pub item: Item,
}

/// All serialised types.
#[derive(Default)]
pub struct TypeIndex {
    /// Types by name. Types of the same name are distinguished by their file.
    types: BTreeMap<String, Vec<SerdeType>>,
    /// The imports of each file, by name and path.
    imports: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

impl TypeIndex {
    /// Reads the types of both crates.
    ///
    /// # Errors
    /// A file is not valid Rust.
    pub fn read(tree: &SourceTree) -> Result<TypeIndex, String> {
        let mut source = TypeIndex::default();
        let travels = |path: &str| {
            path.starts_with("crates/api/src/types/") || path.starts_with("crates/model/src/")
        };
        for file in tree.rust().filter(|file| travels(&file.path) && !file.is_unit_tests()) {
            let parsed =
                syn::parse_file(&file.text).map_err(|error| format!("{}: {error}", file.path))?;
            let imports = source.imports.entry(file.path.clone()).or_default();
            for item in &parsed.items {
                if let Item::Use(one) = item {
                    spell(&one.tree, &mut Vec::new(), imports);
                }
            }
            for item in parsed.items {
                let (name, attributes) = match &item {
                    Item::Struct(one) => (one.ident.to_string(), &one.attrs),
                    Item::Enum(one) => (one.ident.to_string(), &one.attrs),
                    _ => continue,
                };
                if derives_serde(attributes) {
                    let public = public_name(attributes).unwrap_or_else(|| name.clone());
                    let found = SerdeType { name: public, path: file.path.clone(), item };
                    source.types.entry(name).or_default().push(found);
                }
            }
        }
        source.rename();
        Ok(source)
    }

    /// The type that `name` means in the file `within`.
    ///
    /// # Errors
    /// No type matches, or several types match.
    pub fn find(&self, name: &str, within: &str) -> Result<&SerdeType, String> {
        let all = self.types.get(name).map_or(&[][..], Vec::as_slice);
        let import = self.imports.get(within).and_then(|imports| imports.get(name));
        let fits = |found: &&SerdeType| match import {
            Some(path) if path.first().is_some_and(|first| first == "model") => {
                let modules = path[1..path.len() - 1].join("/");
                found.path.starts_with(&format!("crates/model/src/{modules}"))
            }
            _ => crate_of(&found.path) == crate_of(within),
        };
        let fitting: Vec<&SerdeType> = all.iter().filter(fits).collect();
        let here = fitting.iter().find(|found| found.path == within);
        match (here, fitting.as_slice()) {
            (Some(found), _) => Ok(found),
            (None, [one]) => Ok(one),
            (None, []) => Err(format!("{within}: there is no type {name} that travels")),
            (None, several) => {
                let paths: Vec<&str> = several.iter().map(|found| found.path.as_str()).collect();
                Err(format!("{within}: {name} may be of {}", paths.join(" or ")))
            }
        }
    }

    /// If several types have the same name, those outside `api` get their file's name as a prefix.
    fn rename(&mut self) {
        for found in self.types.values_mut().filter(|found| found.len() > 1) {
            let own = |found: &SerdeType| crate_of(&found.path) == "api";
            let contested = found.iter().any(own) || found.len() > 1;
            for one in found.iter_mut().filter(|one| contested && !own(one)) {
                let stem = one.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
                // `Finding` in `finding.rs` needs no prefix.
                if pascal(stem) != one.name {
                    one.name = format!("{}{}", pascal(stem), one.name);
                }
            }
        }
    }
}

fn crate_of(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or_default()
}

fn pascal(kebab: &str) -> String {
    let capital = |part: &str| {
        let mut chars = part.chars();
        chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
    };
    kebab.split('_').map(capital).collect()
}

fn derives_serde(attributes: &[Attribute]) -> bool {
    let mut found = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        // Ignored: an attribute that is not a list of paths cannot derive a serde trait.
        let _ = attribute.parse_nested_meta(|meta| {
            let last = meta.path.segments.last().map(|last| last.ident.to_string());
            found |= matches!(last.as_deref(), Some("Serialize" | "Deserialize"));
            Ok(())
        });
    }
    found
}

/// The public name of a type, if a serde attribute changes it.
fn public_name(attributes: &[Attribute]) -> Option<String> {
    let mut name = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        // Ignored: other serde settings end the walk, and `rename` is always an attribute alone.
        let _ = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("rename") {
                name = Some(meta.value()?.parse::<syn::LitStr>()?.value());
            }
            Ok(())
        });
    }
    name
}

fn spell(tree: &UseTree, prefix: &mut Vec<String>, into: &mut BTreeMap<String, Vec<String>>) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            spell(&path.tree, prefix, into);
            prefix.pop();
        }
        UseTree::Name(name) => {
            let mut path = prefix.clone();
            path.push(name.ident.to_string());
            into.insert(name.ident.to_string(), path);
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| spell(tree, prefix, into)),
        UseTree::Rename(_) | UseTree::Glob(_) => {}
    }
}
