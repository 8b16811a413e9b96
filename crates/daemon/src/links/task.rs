//! The thread's life: what is waited for, and what follows in which order.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bpf::Home;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use l4::hops::Link;
use links::plane::Plane;
use model::config::Config;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

use super::asker::Heard;
use super::bundle::{Bundle, Tools};
use super::device::Netlink;
use super::view::View;
use crate::control::{Control, Picture};
use crate::event::Events;
use crate::packets::netlink::{Kernel, News};
use crate::packets::site::chain;
use crate::pins;
use crate::vrrp::now;

/// Between two looks at carriers: the kernel may tell of one that is lost only a second later (`linkwatch`).
const LOOK: Duration = Duration::from_millis(10);
/// Between two looks at what is counted, and at devices that should stand.
const SHOW: Duration = Duration::from_millis(250);
/// Answers that may wait; more stay in the sockets, and are lost there.
const HEARD: usize = 256;

/// The thread is to end.
#[derive(Debug)]
pub(super) struct End {
    /// Devices are removed.
    pub give: bool,
    /// When it is done.
    pub done: oneshot::Sender<()>,
}

/// Follows the pictures until told to end.
pub(super) async fn run(
    control: Control,
    mut ended: mpsc::Receiver<End>,
    show: watch::Sender<Arc<View>>,
) {
    let mut pictures = control.watch();
    let (to, mut heard) = mpsc::channel(HEARD);
    let mut life = Life::new(control.events().clone(), to);
    let (mut look, mut tell) = (tokio::time::interval(LOOK), tokio::time::interval(SHOW));
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tell.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut alive, mut stale) = (true, true);
    // The kernel may be busy for long; questions to next hops go on while it is waited for.
    let mut asked: Option<Asked> = None;
    loop {
        tokio::select! {
            end = ended.recv() => {
                let Some(End { give, done }) = end else { return };
                if give {
                    life.end().await;
                }
                show.send_replace(Arc::new(View::default()));
                let _ = done.send(());
                return;
            }
            answer = heard.recv() => if let Some(answer) = answer { life.hear(&answer) },
            changed = pictures.changed(), if alive => (alive, stale) = (changed.is_ok(), true),
            news = life.news() => stale |= life.learn(news),
            found = answered(&mut asked) => {
                let picture = pictures.borrow().clone();
                life.follow(&picture, found).await;
                show.send_replace(Arc::new(life.view()));
            }
            _ = look.tick(), if life.busy() => life.tick().await,
            _ = tell.tick(), if life.busy() => {
                stale |= life.unsettled();
                show.send_replace(Arc::new(life.view()));
            }
        }
        if stale && asked.is_none() {
            let picture = pictures.borrow_and_update().clone();
            asked = life.begin(&picture);
            show.send_replace(Arc::new(life.view()));
            stale = false;
        }
    }
}

/// All interfaces, as the kernel will tell them.
type Asked = BoxFuture<'static, io::Result<HashMap<u32, Link>>>;

/// What was asked for, once; never, if nothing was.
async fn answered(asked: &mut Option<Asked>) -> io::Result<HashMap<u32, Link>> {
    let Some(waiting) = asked else { return std::future::pending().await };
    let found = waiting.await;
    *asked = None;
    found
}

struct Life {
    events: Events,
    kernel: Option<(Kernel, Netlink)>,
    plane: Option<(Plane, Home)>,
    bundles: BTreeMap<String, Bundle>,
    links: HashMap<u32, Link>,
    heard: mpsc::Sender<Heard>,
    broken: Option<String>,
}

impl Life {
    fn new(events: Events, heard: mpsc::Sender<Heard>) -> Life {
        let (bundles, links) = (BTreeMap::new(), HashMap::new());
        Life { events, kernel: None, plane: None, bundles, links, heard, broken: None }
    }

    fn busy(&self) -> bool {
        !self.bundles.is_empty()
    }

    /// Whether something that should stand does not.
    fn unsettled(&self) -> bool {
        self.kernel.is_none() || self.plane.is_none() || self.broken.is_some()
    }

    async fn news(&mut self) -> Option<News> {
        match &mut self.kernel {
            Some((kernel, _)) => kernel.next().await,
            None => std::future::pending().await,
        }
    }

    /// Whether interfaces are to be looked at again.
    fn learn(&mut self, news: Option<News>) -> bool {
        if news.is_none() {
            // The connection is lost: another one is made.
            self.kernel = None;
        }
        !matches!(news, Some(News::Neighbour(..)))
    }

    /// Opens what is needed for this picture and asks which interfaces there are, if it has bundles or had some.
    fn begin(&mut self, picture: &Picture) -> Option<Asked> {
        let config = &picture.config;
        if config.links.is_empty() && self.bundles.is_empty() {
            return None;
        }
        match self.open(config) {
            Ok(asked) => Some(asked),
            Err(why) => {
                self.fail(config, why);
                None
            }
        }
    }

    fn fail(&mut self, config: &Config, why: String) {
        if self.broken.as_ref() != Some(&why) {
            self.events.warn("bundle-trouble", format!("no bundle stands: {why}"));
        }
        self.broken = Some(why);
        for (name, wanted) in &config.links {
            let new = || Bundle::new(Arc::clone(wanted));
            self.bundles.entry(name.clone()).or_insert_with(new);
        }
    }

    /// Has the bundles of this picture, each on its links as they are now.
    async fn follow(&mut self, picture: &Picture, found: io::Result<HashMap<u32, Link>>) {
        let config = &picture.config;
        match found {
            Ok(links) => self.links = links,
            Err(error) => return self.fail(config, chain(&error)),
        }
        self.broken = None;
        let mut bundles = std::mem::take(&mut self.bundles);
        let Some(tools) = self.tools() else { return };
        let gone: Vec<String> =
            bundles.keys().filter(|name| !config.links.contains_key(*name)).cloned().collect();
        for name in gone {
            if let Some(mut bundle) = bundles.remove(&name) {
                bundle.end(&tools).await;
            }
        }
        for (name, wanted) in &config.links {
            let new = || Bundle::new(Arc::clone(wanted));
            let bundle = bundles.entry(name.clone()).or_insert_with(new);
            if bundle.config != *wanted {
                bundle.adopt(wanted, &tools).await;
            }
            bundle.stand(&tools).await;
        }
        self.bundles = bundles;
        if config.links.is_empty() {
            self.close();
        }
    }

    /// Opens what is not open, and asks which interfaces there are.
    fn open(&mut self, config: &Config) -> Result<Asked, String> {
        let said = |error: &dyn std::error::Error| chain(error);
        if self.plane.is_none() {
            let home = pins::Plane::Links.claim(config).map_err(|error| said(&error))?;
            let plane = Plane::open(&home).map_err(|error| said(&error))?;
            pins::Plane::Links.warn(&home, &self.events);
            self.plane = Some((plane, home));
        }
        let (kernel, _) = match &mut self.kernel {
            Some(connected) => connected,
            none => {
                let kernel = Kernel::connect().map_err(|error| said(&error))?;
                none.insert((kernel, Netlink::connect().map_err(|error| said(&error))?))
            }
        };
        Ok(kernel.links().boxed())
    }

    fn hear(&mut self, heard: &Heard) {
        let mut bundles = std::mem::take(&mut self.bundles);
        if let Some(tools) = self.tools() {
            // An answer to a socket that is closed by now is nobody's.
            let _ = bundles.values_mut().any(|bundle| bundle.hear(heard, &tools));
        }
        self.bundles = bundles;
    }

    async fn tick(&mut self) {
        let mut bundles = std::mem::take(&mut self.bundles);
        if let Some(tools) = self.tools() {
            for bundle in bundles.values_mut() {
                bundle.tick(now(), &tools).await;
            }
        }
        self.bundles = bundles;
    }

    /// Gives everything up and leaves no trace.
    async fn end(&mut self) {
        let mut bundles = std::mem::take(&mut self.bundles);
        if let Some(tools) = self.tools() {
            for bundle in bundles.values_mut() {
                bundle.end(&tools).await;
            }
        }
        self.close();
    }

    fn close(&mut self) {
        if let Some((plane, home)) = self.plane.take() {
            drop(plane);
            if let Err(error) = home.clear() {
                self.events.warn("bundle-trouble", chain(&error));
            }
        }
    }

    fn tools(&self) -> Option<Tools<'_>> {
        let ((kernel, netlink), (plane, _)) = self.kernel.as_ref().zip(self.plane.as_ref())?;
        let (events, links, heard) = (&self.events, &self.links, &self.heard);
        Some(Tools { kernel, netlink, plane, events, links, heard })
    }

    fn view(&self) -> View {
        let plane = self.plane.as_ref().map(|(plane, _)| plane);
        let bundles = self.bundles.iter().map(|(name, one)| (name.clone(), one.view(plane)));
        View { bundles: bundles.collect(), broken: self.broken.clone() }
    }
}
