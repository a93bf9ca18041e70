//! What the connections to a provider need of TLS beyond the system's own: a certificate to show, and further roots to
//! trust. They are files that a person names; what is wrong with one is told by its name, with what to do.

use std::path::{Path, PathBuf};

use reqwest::{Certificate, ClientBuilder, Identity};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::ProviderConfig;

/// No certificate is longer; a system's whole bundle of roots has a quarter of this.
const LONGEST: u64 = 1 << 20;

/// The files of one provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    /// Shown to the server, the whole chain; with its key, if that has no file of its own.
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    /// Trusted beside the system's roots.
    pub(crate) roots: Option<PathBuf>,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The key of the configuration that names it.
    pub(crate) key: &'static str,
    pub(crate) reason: String,
}

const CERTIFICATE: &str = "client_certificate";
const KEY: &str = "client_key";
const ROOTS: &str = "ca_file";

impl Tls {
    /// As it is configured. The files are not looked at.
    pub(crate) fn of(config: &ProviderConfig) -> Result<Self, Wrong> {
        Ok(Self {
            certificate: whole(CERTIFICATE, config.client_certificate.as_deref())?,
            key: whole(KEY, config.client_key.as_deref())?,
            roots: whole(ROOTS, config.ca_file.as_deref())?,
        })
    }

    /// Whether it is the system's own alone.
    pub(crate) fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the files can be used.
    pub(crate) fn check(&self) -> Result<(), Wrong> {
        self.identity()?;
        self.trusted()?;
        Ok(())
    }

    /// Adds what the files hold.
    pub(crate) fn apply(&self, mut builder: ClientBuilder) -> Result<ClientBuilder, Wrong> {
        if let Some(identity) = self.identity()? {
            builder = builder.identity(identity);
        }
        Ok(builder.tls_certs_merge(self.trusted()?))
    }

    /// When the files were written, and how long they are: a client that was made of others is of no use.
    pub(crate) fn stamps(&self) -> Vec<Option<(std::time::SystemTime, u64)>> {
        let files = [&self.certificate, &self.key, &self.roots];
        let stamp = |path: &PathBuf| {
            let about = path.metadata().ok()?;
            Some((about.modified().ok()?, about.len()))
        };
        files.map(|path| path.as_ref().and_then(stamp)).to_vec()
    }

    fn identity(&self) -> Result<Option<Identity>, Wrong> {
        let Some(certificate) = &self.certificate else {
            return match &self.key {
                None => Ok(None),
                Some(key) => Err(Wrong {
                    key: KEY,
                    reason: format!(
                        "{} is the key of a certificate that is not named: {CERTIFICATE} must name its file",
                        key.display()
                    ),
                }),
            };
        };
        let mut pem = read(CERTIFICATE, certificate)?;
        let chain = certificates(CERTIFICATE, certificate, &pem)?;
        let (name, path, key) = match &self.key {
            Some(key) => (KEY, key, read(KEY, key)?),
            None => (CERTIFICATE, certificate, pem.clone()),
        };
        let private = PrivateKeyDer::from_pem_slice(&key).map_err(|_| Wrong {
            key: name,
            reason: no_key(path, &key, self.key.is_some()),
        })?;
        let provider = rustls::crypto::ring::default_provider();
        let fits = CertifiedKey::from_der(chain, private, &provider);
        fits.map_err(|error| Wrong {
            key: name,
            reason: match error {
                rustls::Error::InconsistentKeys(_) => format!(
                    "{} is not the key of the certificate in {}",
                    path.display(),
                    certificate.display()
                ),
                other => format!("{} can't be used: {other}", path.display()),
            },
        })?;
        if self.key.is_some() {
            pem.push(b'\n');
            pem.extend_from_slice(&key);
        }
        let identity = Identity::from_pem(&pem);
        identity.map(Some).map_err(|error| Wrong {
            key: CERTIFICATE,
            reason: format!("{} can't be used: {error}", certificate.display()),
        })
    }

    fn trusted(&self) -> Result<Vec<Certificate>, Wrong> {
        let Some(path) = &self.roots else {
            return Ok(Vec::new());
        };
        let pem = read(ROOTS, path)?;
        certificates(ROOTS, path, &pem)?;
        Certificate::from_pem_bundle(&pem).map_err(|error| Wrong {
            key: ROOTS,
            reason: format!("{} can't be used: {error}", path.display()),
        })
    }
}

/// A path that means the same wherever copydesk is started.
fn whole(key: &'static str, path: Option<&Path>) -> Result<Option<PathBuf>, Wrong> {
    let Some(path) = path else { return Ok(None) };
    let at_home = path.strip_prefix("~").ok();
    let home = at_home.and_then(|rest| Some(std::env::home_dir()?.join(rest)));
    let path = home.unwrap_or_else(|| path.to_owned());
    if !path.is_absolute() {
        return Err(Wrong {
            key,
            reason: format!("{} must be a whole path, or begin with ~/", path.display()),
        });
    }
    Ok(Some(path))
}

fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, Wrong> {
    let wrong = |reason: String| Wrong {
        key,
        reason: format!("{} {reason}", path.display()),
    };
    // Anything may be there, and what is not a file may never end.
    let about = path
        .metadata()
        .map_err(|error| wrong(format!("can't be read: {error}")))?;
    if !about.is_file() {
        return Err(wrong("is no file".to_owned()));
    }
    if about.len() > LONGEST {
        return Err(wrong("is too long to be a PEM file".to_owned()));
    }
    std::fs::read(path).map_err(|error| wrong(format!("can't be read: {error}")))
}

fn certificates(
    key: &'static str,
    path: &Path,
    pem: &[u8],
) -> Result<Vec<CertificateDer<'static>>, Wrong> {
    let wrong = |reason: &str| Wrong {
        key,
        reason: format!("{} {reason}", path.display()),
    };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) if holds(pem, b"PRIVATE KEY-----") => Err(wrong("holds a key and no certificate")),
        _ => Err(wrong(
            "holds no certificate in PEM (-----BEGIN CERTIFICATE-----). `openssl pkcs12 -in FILE -out FILE.pem -nodes` makes one of \
             a .p12 or .pfx",
        )),
    }
}

fn no_key(path: &Path, pem: &[u8], is_apart: bool) -> String {
    let path = path.display();
    if holds(pem, b"ENCRYPTED") {
        return format!(
            "the key in {path} is locked with a password: `openssl pkey -in {path} -out UNLOCKED.pem` makes one without"
        );
    }
    match is_apart {
        true => format!("{path} holds no private key in PEM (-----BEGIN PRIVATE KEY-----)"),
        false => {
            format!("{path} holds no private key beside the certificate: {KEY} must name its file")
        }
    }
}

fn holds(pem: &[u8], words: &[u8]) -> bool {
    pem.windows(words.len()).any(|window| window == words)
}

/// What is wrong with the files that a provider's TLS needs, if anything is: the key of the configuration, and why.
pub fn wrong_file(config: &ProviderConfig) -> Option<(&'static str, String)> {
    let wrong = Tls::of(config).and_then(|tls| tls.check()).err()?;
    Some((wrong.key, wrong.reason))
}
