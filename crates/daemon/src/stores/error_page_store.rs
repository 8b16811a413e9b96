//! Reads the files of error pages: with the configuration, and again when they have changed.
//!
//! All files of a configuration must be valid before the configuration becomes active. Of a file that changes later the
//! previous content stays until the new one is valid.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::regular_file;
use model::config::{Config, ErrorPageConfig};
use model::error_pages::{ErrorPage, ErrorPages, HttpFileError, MAX_PAGE_BYTES, MAX_TOTAL_BYTES};

use crate::util::file_stamps::{FileStamps, file_stamps};

/// The pages of all services, and how their files were when they were read.
#[derive(Clone, Debug, Default)]
pub struct ErrorPageStore {
    services: BTreeMap<String, ServicePages>,
    stamps: FileStamps,
    /// How the files were at the last look, if otherwise than when they were read.
    pending_stamps: Option<FileStamps>,
    /// The files were no good at the last reading.
    is_refused: bool,
}

#[derive(Clone, Debug)]
struct ServicePages {
    config: Vec<ErrorPageConfig>,
    pages: Arc<ErrorPages>,
}

/// The configured pages of one service.
#[derive(Clone, Copy, Debug)]
struct WantedPages<'c> {
    service: &'c str,
    config: &'c [ErrorPageConfig],
}

/// The pages of a configuration, and every error that was found in them.
#[derive(Debug)]
pub struct PreparedPages {
    pub store: ErrorPageStore,
    pub errors: Vec<ErrorPageFault>,
    /// Services whose changed files were read, a sentence each.
    pub reloaded: Vec<String>,
}

/// The error of one page.
#[derive(Debug)]
pub struct ErrorPageFault {
    /// Its key: `service.shop.error-page[0].file`.
    pub key: String,
    pub error: ErrorPageError,
}

/// Why a page cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ErrorPageError {
    #[error("cannot read {}: {source}; write the page there, or remove this entry", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: Arc<io::Error>,
    },
    #[error(
        "{}, {source}; with `format = \"body\"` the whole file is the page", path.display()
    )]
    Head {
        path: PathBuf,
        #[source]
        source: HttpFileError,
    },
    #[error(
        "{} and the files before it have {found} bytes; expected at most {MAX_TOTAL_BYTES} of all \
         error pages: let services share files, or make them smaller", path.display()
    )]
    Total { path: PathBuf, found: u64 },
}

/// Files that were read once for all services that name them.
#[derive(Default)]
struct PageFiles {
    files: BTreeMap<PathBuf, PageFileContent>,
    total: u64,
}

/// What came of reading a file.
#[derive(Clone)]
enum PageFileContent {
    Whole(Arc<[u8]>),
    /// It cannot be read.
    Unreadable(Arc<io::Error>),
    /// With it all files have this many bytes, which is too many.
    OverTotal(u64),
}

impl ErrorPageStore {
    /// Reads the files of a configuration. Pages that are the same as before stay the same allocation.
    pub fn prepare(&self, config: &Config) -> PreparedPages {
        let services = config.services.iter();
        let wanted =
            services.map(|(name, it)| WantedPages { service: name, config: &it.error_pages });
        self.read(wanted.filter(|wanted| !wanted.config.is_empty()))
    }

    fn read<'c>(&self, services: impl Iterator<Item = WantedPages<'c>> + Clone) -> PreparedPages {
        let stamps = file_stamps(&paths(services.clone().flat_map(|wanted| wanted.config)));
        let mut files = PageFiles::default();
        let mut prepared = PreparedPages {
            store: ErrorPageStore { stamps, ..ErrorPageStore::default() },
            errors: Vec::new(),
            reloaded: Vec::new(),
        };
        for WantedPages { service: name, config } in services {
            let mut pages = ErrorPages::default();
            for (at, page) in config.iter().enumerate() {
                match files.read_page(page) {
                    Ok(page) => pages.pages.push(page),
                    Err(error) => {
                        let key = format!("service.{name}.error-page[{at}].file");
                        prepared.errors.push(ErrorPageFault { key, error });
                    }
                }
            }
            let before = self.services.get(name);
            let pages = match before.filter(|before| *before.pages == pages) {
                Some(before) => before.pages.clone(),
                None => Arc::new(pages),
            };
            if before.is_some_and(|it| it.config == config && !Arc::ptr_eq(&it.pages, &pages)) {
                let sentence = format!("service.{name}.error-page: changed files are active");
                prepared.reloaded.push(sentence);
            }
            let config = config.to_vec();
            prepared.store.services.insert(name.to_owned(), ServicePages { config, pages });
        }
        prepared
    }

    /// Looks whether files have changed, and reads them if two looks in a row agree, so that no partial file is read.
    /// Returns what has changed: nothing, if files that were refused are as before. `None`: nothing is to be done.
    ///
    /// # Errors
    /// A changed file is no good: every page stays as it was.
    pub fn reload(&mut self) -> Option<Result<Vec<String>, ErrorPageFault>> {
        let configs = self.services.values().flat_map(|service| &service.config);
        let now = file_stamps(&paths(configs));
        if now == self.stamps {
            self.pending_stamps = None;
            return None;
        }
        if self.pending_stamps.as_ref() != Some(&now) {
            self.pending_stamps = Some(now);
            return None;
        }
        let services = self.services.iter();
        let read =
            self.read(services.map(|(name, it)| WantedPages { service: name, config: &it.config }));
        // An invalid file is reported once.
        self.stamps = now;
        self.pending_stamps = None;
        if let Some(fault) = read.errors.into_iter().next() {
            self.is_refused = true;
            return Some(Err(fault));
        }
        self.services = read.store.services;
        let was_refused = std::mem::take(&mut self.is_refused);
        (was_refused || !read.reloaded.is_empty()).then_some(Ok(read.reloaded))
    }

    /// The pages by the names of services.
    pub fn pages(&self) -> BTreeMap<String, Arc<ErrorPages>> {
        self.services.iter().map(|(name, it)| (name.clone(), it.pages.clone())).collect()
    }
}

impl PageFiles {
    fn read_page(&mut self, page: &ErrorPageConfig) -> Result<ErrorPage, ErrorPageError> {
        let Some(path) = page.file() else {
            let made = ErrorPage::new(page, &Arc::default());
            return made.map_err(|source| ErrorPageError::Head { path: PathBuf::new(), source });
        };
        let file = self.read_file(path)?;
        ErrorPage::new(page, &file)
            .map_err(|source| ErrorPageError::Head { path: path.to_owned(), source })
    }

    fn read_file(&mut self, path: &Path) -> Result<Arc<[u8]>, ErrorPageError> {
        let known = self.files.get(path).cloned();
        let file = known.unwrap_or_else(|| {
            let file = self.load_file(path);
            self.files.insert(path.to_owned(), file.clone());
            file
        });
        let path = path.to_owned();
        match file {
            PageFileContent::Whole(content) => Ok(content),
            PageFileContent::Unreadable(source) => Err(ErrorPageError::Read { path, source }),
            PageFileContent::OverTotal(found) => Err(ErrorPageError::Total { path, found }),
        }
    }

    fn load_file(&mut self, path: &Path) -> PageFileContent {
        match regular_file::read(path, MAX_PAGE_BYTES) {
            Ok(content) => {
                self.total += content.len() as u64;
                match self.total > MAX_TOTAL_BYTES {
                    true => PageFileContent::OverTotal(self.total),
                    false => PageFileContent::Whole(content.into()),
                }
            }
            Err(error) => PageFileContent::Unreadable(Arc::new(error)),
        }
    }
}

/// The files of pages, each once.
fn paths<'c>(pages: impl Iterator<Item = &'c ErrorPageConfig>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        pages.filter_map(|page| page.file()).map(Path::to_owned).collect();
    paths.sort();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use model::config::load;

    use super::*;
    use crate::util::scratch_dir::Scratch;

    fn config(pages: &[String]) -> Config {
        let pages = pages.join(", ");
        let text = format!(
            "[service.shop]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\n\
             error-page = [{pages}]\n[service.other]\nlisten = \"127.0.0.1:2\"\nforward = \"http\"\n\
             pool = \"web\"\nerror-page = [{pages}]\n[pool.web]\nservers = [\"127.0.0.1:3\"]\n"
        );
        load(&text, "steelyard.toml").unwrap_or_else(|error| panic!("{error}")).config
    }

    fn page(file: &Path, rest: &str) -> String {
        format!("{{ status = 503, file = {file:?}{rest} }}")
    }

    fn body(store: &ErrorPageStore) -> Vec<u8> {
        store.pages()["shop"].find(503).unwrap().body().to_vec()
    }

    #[test]
    fn a_file_is_followed_while_it_is_good() {
        let room = Scratch::new("error-pages").unwrap();
        let file = room.path().join("503.html");
        std::fs::write(&file, "one").unwrap();
        let config = config(&[page(&file, "")]);
        let mut store = ErrorPageStore::default().prepare(&config).store;
        assert_eq!(body(&store), b"one");
        let again = store.prepare(&config);
        assert!(Arc::ptr_eq(&again.store.pages()["shop"], &store.pages()["shop"]));
        assert!(again.reloaded.is_empty() && store.reload().is_none());

        std::fs::write(&file, "second").unwrap();
        assert!(store.reload().is_none(), "it may be half of it");
        assert_eq!(store.reload().unwrap().unwrap().len(), 2, "both services");
        assert_eq!(body(&store), b"second");

        std::fs::remove_file(&file).unwrap();
        assert!(store.reload().is_none());
        let fault = store.reload().unwrap().unwrap_err();
        assert_eq!(fault.key, "service.other.error-page[0].file");
        assert!(store.reload().is_none(), "reported once");
        assert_eq!(body(&store), b"second");

        std::fs::write(&file, "third").unwrap();
        assert_eq!(store.prepare(&config).reloaded.len(), 2);
    }

    #[test]
    fn each_file_that_is_no_good_is_named() {
        let room = Scratch::new("error-pages").unwrap();
        let made = |name: &str, bytes: usize| {
            let file = room.path().join(name);
            std::fs::write(&file, vec![b'a'; bytes]).unwrap();
            file
        };
        let errors = |pages: &[String]| -> Vec<String> {
            let errors = ErrorPageStore::default().prepare(&config(pages)).errors;
            errors.iter().map(|fault| format!("{}: {}", fault.key, fault.error)).collect()
        };
        let limit = usize::try_from(MAX_PAGE_BYTES).unwrap();
        assert_eq!(errors(&[page(&made("most", limit), "")]), Vec::<String>::new());
        for (file, rest, found) in [
            (room.path().join("absent"), "", "No such file"),
            (room.path().to_owned(), "", "expected a regular file"),
            (made("large", limit + 1), "", "it has 65537 bytes: expected at most 65536"),
            (made("raw", 20), ", format = \"http\"", "line 1: the file ends; expected"),
        ] {
            let errors = errors(&[page(&file, rest)]);
            assert_eq!(errors.len(), 2, "both services: {errors:?}");
            let start = "service.shop.error-page[0].file: ";
            assert!(errors[1].starts_with(start) && errors[1].contains(found), "{errors:?}");
        }
        let large = made("large", limit + 1);
        let mut files = PageFiles::default();
        assert!(files.read_file(&large).is_err());
        std::fs::write(&large, "small").unwrap();
        assert!(files.read_file(&large).is_err(), "one look for all pages that name it");
        let many: Vec<String> = (0..17).map(|at| page(&made(&at.to_string(), limit), "")).collect();
        assert_eq!(errors(&many[..16]), Vec::<String>::new(), "each file counts once");
        let found = errors(&many);
        assert_eq!(found.len(), 2, "{found:?}");
        for one in &found {
            assert!(one.contains("1114112 bytes; expected at most 1048576"), "{one}");
        }
    }
}
