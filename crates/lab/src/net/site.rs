//! A site: client, router, balancer and servers, each in a namespace, laid out by a plan.
//!
//! Every server takes packets for the services' address and answers no question about it, so that each forwarding
//! method works without touching servers; a decapsulator is loaded by whoever proves tunnels. It runs no program.

use std::ops::Deref;

use thiserror::Error;

use super::cable::{Checksums, End, LinkError, Pass, lay};
use super::kernel::{DIRECT_RETURN, FORWARDING, HOST};
use super::namespace::{Namespace, NamespaceError};
use super::plan::{self, Arms, Host, Layout};
use super::tool::ToolError;

/// Why a site could not be built.
#[derive(Debug, Error)]
pub enum SiteError {
    /// A namespace.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A cable.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// An address or a route.
    #[error("a host could not be given its addresses")]
    Tool(#[from] ToolError),
}

/// A host: its namespace and its addresses. Its link is `eth0`.
#[derive(Debug)]
pub struct Node {
    /// Where it is.
    pub namespace: Namespace,
    /// Its addresses.
    pub host: Host,
}

impl Deref for Node {
    type Target = Namespace;

    fn deref(&self) -> &Namespace {
        &self.namespace
    }
}

/// The site; gone when dropped.
#[derive(Debug)]
pub struct Site {
    /// Who asks.
    pub client: Node,
    /// Who balances.
    pub balancer: Node,
    /// Who answers: the near ones first.
    pub servers: Vec<Node>,
    /// What connects them. Links: `client`, `balancer`, `server0`, …; `lan` is the subnet of balancer and near servers.
    pub router: Namespace,
    layout: Layout,
}

impl Site {
    /// Builds one.
    pub fn open(layout: &Layout) -> Result<Site, SiteError> {
        let router = host("router")?;
        router.set(&FORWARDING)?;
        let site = Site {
            client: Node { namespace: host("client")?, host: plan::CLIENT },
            balancer: Node { namespace: host("balancer")?, host: plan::BALANCER },
            servers: servers(layout)?,
            router,
            layout: layout.clone(),
        };
        site.lay_lan()?;
        site.lay_far()?;
        site.set_up_balancer()?;
        site.load_pass()?;
        Ok(site)
    }

    /// What was built.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The balancer's return addresses for `nat`.
    pub fn returns(&self) -> Vec<Host> {
        (0..plan::RETURNS).map(plan::return_address).collect()
    }

    /// The balancer's links that packets come in by.
    pub fn balancer_links(&self) -> &'static [&'static str] {
        match self.layout.arms {
            Arms::One => &["eth0"],
            Arms::Two => &["front", "eth0"],
        }
    }

    /// The router's link to a server.
    pub fn port_of(server: usize) -> String {
        format!("server{server}")
    }

    /// Plugs a cable of the router's in or out.
    pub fn plug(&self, port: &str, plugged: bool) -> Result<(), SiteError> {
        let word = if plugged { "up" } else { "down" };
        self.router.ip(&format!("link set {port} {word}\n"))?;
        Ok(())
    }

    /// The largest segment that a server offers and accepts, for paths with less room than its link.
    pub fn segments(&self, server: &Node, bytes: u32) -> Result<(), SiteError> {
        let Host { gateway_v4, gateway_v6, .. } = server.host;
        let tcp = self.layout.congestion.name();
        server.ip(&format!(
            "route change default via {gateway_v4} congctl {tcp} advmss {bytes}\n\
             route change ::/0 via {gateway_v6} congctl {tcp} advmss {}\n",
            bytes - 20
        ))?;
        Ok(())
    }

    /// Lets a server hold the services' addresses, or not; servers of `nat` need none.
    pub fn holds_services(&self, server: &Node, holds: bool) -> Result<(), SiteError> {
        let lines = plan::takes_services();
        let gone = || lines.replace("addr add", "addr del").replace(" nodad", "");
        server.ip(&if holds { lines.clone() } else { gone() })?;
        Ok(())
    }

    /// Loads a program of somebody else's on a host's `eth0`; it passes every packet.
    pub fn occupy(&self, host: &Namespace) -> Result<(), SiteError> {
        Ok(Pass::new()?.load(End { namespace: host, link: "eth0" })?)
    }

    fn cable(&self, node: &Namespace, link: &str, port: &str) -> Result<(), SiteError> {
        let end = End { namespace: node, link };
        let at_router = End { namespace: &self.router, link: port };
        Ok(lay(end, at_router, self.layout.mtu, self.layout.checksums)?)
    }

    fn lay_lan(&self) -> Result<(), SiteError> {
        let mtu = self.layout.mtu;
        self.router.ip(&format!(
            "link add lan mtu {mtu} type bridge forward_delay 0\nlink set lan up\n"
        ))?;
        self.router.ip(&plan::BALANCER.router_lines("lan"))?;
        let near = self.servers.iter().take(usize::from(self.layout.near));
        let ports = near.enumerate().map(|(number, server)| (server, Site::port_of(number)));
        for (node, port) in ports.chain([(&self.balancer, "balancer".to_owned())]) {
            self.cable(node, "eth0", &port)?;
            self.router.ip(&format!("link set {port} master lan\n"))?;
            node.ip(&node.host.lines("eth0", self.layout.congestion))?;
        }
        Ok(())
    }

    fn lay_far(&self) -> Result<(), SiteError> {
        let far = self.servers.iter().enumerate().skip(usize::from(self.layout.near));
        let ports = far.map(|(number, server)| (server, Site::port_of(number)));
        for (node, port) in ports.chain([(&self.client, "client".to_owned())]) {
            self.cable(node, "eth0", &port)?;
            self.router.ip(&node.host.router_lines(&port))?;
            node.ip(&node.host.lines("eth0", self.layout.congestion))?;
        }
        for server in &self.servers {
            server.set(&DIRECT_RETURN)?;
            server.ip(&plan::takes_services())?;
        }
        Ok(())
    }

    fn set_up_balancer(&self) -> Result<(), SiteError> {
        let balancer = &self.balancer;
        balancer.set(&FORWARDING)?;
        let returns = self.returns();
        let lines = returns.iter().map(|Host { v4, v6, .. }| {
            // Deprecated, so that the host's own connections come from another one (RFC 6724 §5).
            format!(
                "addr add {v4}/24 dev eth0 preferred_lft 0\n\
                 addr add {v6}/64 dev eth0 nodad preferred_lft 0\n"
            )
        });
        balancer.ip(&(lines.collect::<String>() + &plan::takes_services()))?;
        let entrance = match self.layout.arms {
            Arms::One => plan::BALANCER,
            Arms::Two => {
                self.cable(balancer, "front", "front")?;
                self.router.ip(&plan::FRONT.router_lines("front"))?;
                let Host { v4, v6, .. } = plan::FRONT;
                let addresses =
                    format!("addr add {v4}/24 dev front\naddr add {v6}/64 dev front nodad\n");
                balancer.ip(&addresses)?;
                plan::FRONT
            }
        };
        self.router.ip(&plan::to_services(&entrance))?;
        Ok(())
    }

    /// Programs at the other end of every cable on which the balancer or a decapsulator transmits.
    fn load_pass(&self) -> Result<(), SiteError> {
        if self.layout.checksums == Checksums::Offloaded {
            return Ok(());
        }
        let pass = Pass::new()?;
        let mut ports = vec!["balancer"];
        if self.layout.arms == Arms::Two {
            ports.push("front");
        }
        for port in ports {
            pass.load(End { namespace: &self.router, link: port })?;
        }
        Ok(())
    }
}

fn host(role: &str) -> Result<Namespace, NamespaceError> {
    let namespace = Namespace::new(role)?;
    namespace.set(&HOST)?;
    Ok(namespace)
}

fn servers(layout: &Layout) -> Result<Vec<Node>, NamespaceError> {
    let near = (0..layout.near).map(plan::near);
    let hosts = near.chain((0..layout.far).map(plan::far)).enumerate();
    let nodes = hosts.map(|(number, host_plan)| {
        Ok(Node { namespace: host(&format!("server{number}"))?, host: host_plan })
    });
    nodes.collect()
}
