//! Large files of Traefik.

use convert::dialect::Dialect;

use crate::shape::{FileShape, address, each};

pub const SHAPES: [FileShape; 9] = [
    FileShape::new(Dialect::Traefik, "routers", routers),
    FileShape::new(Dialect::Traefik, "services", services),
    FileShape::new(Dialect::Traefik, "servers", servers),
    FileShape::new(Dialect::Traefik, "middlewares", middlewares),
    FileShape::new(Dialect::Traefik, "names", names),
    FileShape::new(Dialect::Traefik, "nested", nested),
    FileShape::new(Dialect::Traefik, "tcp", tcp),
    FileShape::new(Dialect::Traefik, "labels", labels),
    FileShape::new(Dialect::Traefik, "toml", toml),
];

const POINT: &str = "entryPoints:\n  web:\n    address: \":80\"\n";
const SERVICE: &str = "  services:\n    s:\n      loadBalancer:\n        servers:\n        - url: http://10.0.0.1:80\n";

fn router(at: usize, service: &str) -> String {
    format!(
        "    r{at}:\n      rule: Host(`h{at}.example`)\n      service: {service}\n      entryPoints: [web]\n"
    )
}

fn routers(lines: usize) -> String {
    format!("{POINT}http:\n  routers:\n{}{SERVICE}", each(lines / 4, |at| router(at, "s")))
}

fn services(lines: usize) -> String {
    let routers = each(lines / 8, |at| router(at, &format!("s{at}")));
    let services = each(lines / 8, |at| {
        format!(
            "    s{at}:\n      loadBalancer:\n        servers:\n        - url: http://{}:80\n",
            address(at)
        )
    });
    format!("{POINT}http:\n  routers:\n{routers}  services:\n{services}")
}

fn servers(lines: usize) -> String {
    let servers = each(lines, |at| format!("        - url: http://{}:80\n", address(at)));
    format!("{POINT}http:\n  routers:\n{}{SERVICE}{servers}", router(0, "s"))
}

fn middlewares(lines: usize) -> String {
    let routers = each(lines / 9, |at| router(at, "s") + &format!("      middlewares: [m{at}]\n"));
    let all = each(lines / 9, |at| {
        format!("    m{at}:\n      headers:\n        customRequestHeaders:\n          X-A: v{at}\n")
    });
    format!("{POINT}http:\n  routers:\n{routers}  middlewares:\n{all}{SERVICE}")
}

fn names(lines: usize) -> String {
    let names = each(lines, |at| format!("Host(`h{at}.example`) || "));
    format!(
        "{POINT}http:\n  routers:\n    r:\n      rule: {names}Host(`z.example`)\n      service: s\n{SERVICE}"
    )
}

fn nested(lines: usize) -> String {
    let (open, close) = ("(".repeat(lines), ")".repeat(lines));
    format!(
        "{POINT}http:\n  routers:\n    r:\n      rule: \"{open}Host(`z.example`){close}\"\n      service: s\n{SERVICE}"
    )
}

fn tcp(lines: usize) -> String {
    let routers = each(lines / 8, |at| {
        format!(
            "    r{at}:\n      rule: HostSNI(`h{at}.example`)\n      service: s{at}\n      tls: {{ passthrough: true }}\n"
        )
    });
    let services = each(lines / 8, |at| {
        format!(
            "    s{at}:\n      loadBalancer:\n        servers:\n        - address: {}:80\n",
            address(at)
        )
    });
    format!("{POINT}tcp:\n  routers:\n{routers}  services:\n{services}")
}

fn labels(lines: usize) -> String {
    let one = |at: usize| {
        format!(
            "  c{at}:\n    image: a\n    labels:\n    - traefik.enable=true\n    - traefik.http.routers.r{at}.rule=Host(`h{at}.example`)\n    - traefik.http.services.s{at}.loadbalancer.server.port=80\n"
        )
    };
    format!(
        "services:\n  traefik:\n    image: traefik:v3.3\n    command:\n    - --providers.docker=true\n    - --entrypoints.web.address=:80\n{}",
        each(lines / 6, one)
    )
}

fn toml(lines: usize) -> String {
    let one = |at: usize| {
        format!(
            "[http.routers.r{at}]\nrule = \"Host(`h{at}.example`)\"\nservice = \"s\"\nentryPoints = [\"web\"]\n"
        )
    };
    format!(
        "[entryPoints.web]\naddress = \":80\"\n{}[[http.services.s.loadBalancer.servers]]\nurl = \"http://10.0.0.1:80\"\n",
        each(lines / 4, one)
    )
}
