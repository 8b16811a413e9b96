//! The provider of the objects in a file, which may stand behind `@` in their names.

/// Names of the provider whose objects are in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectProvider {
    /// A file with dynamic configuration.
    File,
    /// Labels of containers.
    Containers,
}

impl ObjectProvider {
    /// The name of an object of this provider, without the provider. `None`: the object is another provider's, and not in
    /// the file.
    pub fn local(self, name: &str) -> Option<&str> {
        match name.split_once('@') {
            None => Some(name),
            Some((local, "file")) if self == ObjectProvider::File => Some(local),
            Some((local, "docker" | "swarm")) if self == ObjectProvider::Containers => Some(local),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_providers_are_not_in_the_file() {
        for (provider, name, expected) in [
            (ObjectProvider::File, "auth", Some("auth")),
            (ObjectProvider::File, "auth@file", Some("auth")),
            (ObjectProvider::File, "auth@docker", None),
            (ObjectProvider::Containers, "auth@docker", Some("auth")),
            (ObjectProvider::Containers, "auth@swarm", Some("auth")),
            (ObjectProvider::Containers, "auth@file", None),
            (ObjectProvider::Containers, "auth@docker@file", None),
            (ObjectProvider::Containers, "auth@", None),
        ] {
            assert_eq!(provider.local(name), expected, "{name}");
        }
    }
}
