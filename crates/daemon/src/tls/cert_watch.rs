//! Has the files of certificates, of error pages, of networks and of the secret of cookies, looked at again and
//! again. It reads none itself.

use std::time::Duration;

use crate::state::ControlHandle;

/// The interval between checks. A file counts as changed when two checks in a row agree, so that no partial file is
/// read.
/// A renewed certificate is in use within two seconds; a check costs one stat(2) call per file.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Runs until the daemon stops.
pub async fn run(control: ControlHandle) {
    let mut snapshots = control.watch();
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let config = snapshots.borrow_and_update().config.clone();
        let services = config.services.values().any(|service| service.tls.is_some());
        let pools = config.pools.values().any(|pool| pool.tls.is_some());
        let mut error_pages = config.services.values().flat_map(|service| &service.error_pages);
        let has_page_file = error_pages.any(|page| page.file().is_some());
        let has_network_file = config.services.values().any(|it| !it.trust.files.is_empty());
        let has_file = has_page_file || has_network_file || !config.auths.is_empty();
        if services || pools || has_file || config.global.sticky_secret_file.is_some() {
            control.reload_certificates().await;
        } else if snapshots.changed().await.is_err() {
            return;
        }
    }
}
