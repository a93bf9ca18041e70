//! The connections: made when the first request is, then kept and reused. TLS by rustls with the system's roots, proxies as
//! the environment says. Nothing here happens at start-up.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use reqwest::{Client, ClientBuilder, Url, redirect};

use crate::tls::{Tls, Wrong};

/// No server that is there takes longer to accept a connection.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

static DIRECT: OnceLock<Client> = OnceLock::new();
static OUTSIDE: OnceLock<Client> = OnceLock::new();
/// Those of providers with files of their own.
static OWN: Mutex<Vec<Own>> = Mutex::new(Vec::new());
/// So many of them at most.
const MOST: usize = 16;

struct Own {
    tls: Tls,
    /// When its files were written, and how long they were.
    stamps: Vec<Option<(SystemTime, u64)>>,
    client: Client,
}

/// Why there is no client.
pub(crate) enum NoClient {
    /// A file of the configuration can't be used.
    File(Wrong),
    /// TLS can't be had at all.
    Tls(reqwest::Error),
}

/// The client for that address. One on this machine is never reached through a proxy, and without TLS it needs no roots:
/// reading those costs milliseconds and a megabyte.
pub(crate) fn client(url: &Url, tls: &Tls) -> Result<Client, NoClient> {
    if url.scheme() == "http" && is_loopback(url) {
        kept(&DIRECT, |builder| builder.no_proxy().tls_certs_only([]))
    } else if tls.is_plain() {
        kept(&OUTSIDE, |builder| builder)
    } else {
        own(tls)
    }
}

/// Whether the address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let ip = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<std::net::IpAddr>();
    ip.map_or_else(
        |_| host == "localhost" || host.ends_with(".localhost"),
        |ip| ip.is_loopback(),
    )
}

fn kept(
    cell: &'static OnceLock<Client>,
    with: impl FnOnce(ClientBuilder) -> ClientBuilder,
) -> Result<Client, NoClient> {
    if let Some(client) = cell.get() {
        return Ok(client.clone());
    }
    // A failure is not kept: the user may have installed the roots meanwhile.
    let client = with(builder()).build().map_err(NoClient::Tls)?;
    Ok(cell.get_or_init(|| client).clone())
}

/// The client with these files, as they are now: a certificate is renewed while we run.
fn own(tls: &Tls) -> Result<Client, NoClient> {
    let stamps = tls.stamps();
    let mut all = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |own: &&Own| own.tls == *tls && own.stamps == stamps;
    if let Some(own) = all.iter().find(is_it) {
        return Ok(own.client.clone());
    }
    let builder = tls.apply(builder()).map_err(NoClient::File)?;
    let client = builder.build().map_err(NoClient::Tls)?;
    all.retain(|own| own.tls != *tls);
    if all.len() == MOST {
        all.remove(0);
    }
    all.push(Own {
        tls: tls.clone(),
        stamps,
        client: client.clone(),
    });
    Ok(client)
}

fn builder() -> ClientBuilder {
    // An error is another program's default that came first: as good as ours.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("copydesk/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        // A connection that died in the machine's sleep is noticed long before the idle timeout.
        .http2_keep_alive_interval(Duration::from_secs(20))
        .http2_keep_alive_timeout(Duration::from_secs(10))
        // A POST that follows a redirect becomes a GET, and a key does not belong to another host.
        .redirect(redirect::Policy::none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_is_on_this_machine() {
        for (url, wanted) in [
            ("http://localhost:11434/v1", true),
            ("http://127.0.0.1/", true),
            ("http://127.8.9.1:1/", true),
            ("http://[::1]:8080/", true),
            ("http://model.localhost/", true),
            ("http://localhost.example.com/", false),
            ("http://192.168.1.4/", false),
            ("https://api.openai.com/v1", false),
        ] {
            assert_eq!(is_loopback(&url.parse().unwrap()), wanted, "{url}");
        }
    }
}
