//! A source tree in memory: every file of the repository with its path, or invented files for a rule's test.
//!
//! `.git` and the top-level names of `.gitignore` are left out. Symbolic links are not followed. This module checks
//! nothing; the rules do.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::lexer::{self, RustToken};

#[derive(Debug)]
pub struct SourceFile {
    /// Path from the top of the tree, with forward slashes.
    pub path: String,
    /// Empty for a file that is not UTF-8, such as a picture.
    pub text: String,
}

impl SourceFile {
    /// Whether the file is Rust source.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The crate whose library or program contains this file: `model` for `crates/model/src/id.rs`.
    pub fn source_of(&self) -> Option<&str> {
        let (name, rest) = self.path.strip_prefix("crates/")?.split_once('/')?;
        (self.is_rust() && rest.starts_with("src/")).then_some(name)
    }

    /// Whether the whole file is a module of unit tests, by the naming convention.
    pub fn is_unit_tests(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }

    /// The file's Rust tokens, without comments and the contents of literals.
    pub fn tokens(&self) -> Vec<RustToken<'_>> {
        lexer::tokens(&self.text)
    }

    /// The file's Rust tokens, without test-only modules and items.
    pub fn product_tokens(&self) -> Vec<RustToken<'_>> {
        if self.is_unit_tests() { Vec::new() } else { lexer::without_tests(self.tokens()) }
    }
}

#[derive(Debug, Default)]
pub struct SourceTree {
    pub files: Vec<SourceFile>,
}

impl SourceTree {
    /// A tree of these paths and texts.
    pub fn from_files(files: &[(&str, &str)]) -> SourceTree {
        let mut files: Vec<SourceFile> = files
            .iter()
            .map(|(path, text)| SourceFile { path: (*path).to_owned(), text: (*text).to_owned() })
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        SourceTree { files }
    }

    /// Reads the tree under `top`.
    ///
    /// # Errors
    ///
    /// A folder or file cannot be read.
    pub fn read(top: &Path) -> std::io::Result<SourceTree> {
        let ignore = fs::read_to_string(top.join(".gitignore")).unwrap_or_default();
        let ignored: Vec<PathBuf> = ignore
            .lines()
            .filter_map(|line| line.trim().strip_prefix('/'))
            .map(|line| top.join(line.trim_end_matches('/')))
            .collect();
        let mut tree = SourceTree::default();
        let mut folders = vec![top.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let path = entry.path();
                let kind = entry.file_type()?;
                let skipped = ignored.contains(&path)
                    || [".git", "__pycache__"].iter().any(|name| entry.file_name() == *name);
                if kind.is_dir() && !skipped {
                    folders.push(path);
                } else if kind.is_file() && !skipped {
                    tree.add(top, &path)?;
                }
            }
        }
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// This repository.
    ///
    /// # Errors
    ///
    /// As [`SourceTree::read`].
    pub fn read_repository() -> std::io::Result<SourceTree> {
        SourceTree::read(&top())
    }

    /// The file at exactly this path.
    pub fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    pub fn rust(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.is_rust())
    }

    fn add(&mut self, top: &Path, path: &Path) -> std::io::Result<()> {
        let bytes = match fs::read(path) {
            // An editor may remove a file between listing and reading.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            read => read?,
        };
        let relative = path.strip_prefix(top).unwrap_or(path);
        let text = String::from_utf8(bytes).unwrap_or_default();
        self.files.push(SourceFile { path: relative.to_string_lossy().replace('\\', "/"), text });
        Ok(())
    }
}

/// The top folder of this repository.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleBreach {
    pub path: String,
    /// The line, from 1; 0 means the whole file.
    pub line: usize,
    /// The mistake and its remedy.
    pub text: String,
}

impl RuleBreach {
    /// A breach in `file`.
    pub fn new(file: &str, line: usize, text: impl Into<String>) -> RuleBreach {
        RuleBreach { path: file.to_owned(), line, text: text.into() }
    }
}

impl fmt::Display for RuleBreach {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(to, "{}: {}", self.path, self.text),
            line => write!(to, "{}:{line}: {}", self.path, self.text),
        }
    }
}
