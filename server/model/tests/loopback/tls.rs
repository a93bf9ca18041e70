//! A server with TLS that wants to know who we are: what is shown to it, and what is said of files that can't be.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use model::{ModelError, ProviderConfig};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::request;

/// A certificate authority, and the folder where its files are.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
}

impl Authority {
    fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let authority = Self {
            issuer,
            folder: folder.join(name),
        };
        std::fs::create_dir(&authority.folder).unwrap();
        authority.write("ca.pem", &authority.issuer.pem());
        authority
    }

    /// A certificate for this name and its key, as PEM.
    fn issue(&self, name: &str) -> (String, String) {
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn root(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.issuer.pem().as_bytes()).unwrap()
    }
}

const ANSWER: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// A server for those whose certificate is of that authority. It answers with how many certificates it was shown.
async fn server(authority: &Authority) -> String {
    let (certificate, key) = authority.issue("localhost");
    let mut roots = RootCertStore::empty();
    roots.add(authority.root()).unwrap();
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), ring.clone());
    let config = rustls::ServerConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(clients.build().unwrap())
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut stream = match acceptor.accept(socket).into_fallible().await {
                    Ok(stream) => stream,
                    Err((_, mut socket)) => {
                        // Closed with something unread, the alert would be lost.
                        let _ = socket.read_to_end(&mut Vec::new()).await;
                        return;
                    }
                };
                let mut request = Vec::new();
                while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                    if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                let head =
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close";
                let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{ANSWER}", ANSWER.len());
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
                let _ = stream.read_to_end(&mut Vec::new()).await;
            });
        }
    });
    format!("https://localhost:{port}/v1")
}

/// Asks, with these files: the text of the answer, or why there is none.
async fn ask(url: &str, files: [Option<&Path>; 3]) -> Result<String, ModelError> {
    use futures::StreamExt as _;
    let [certificate, key, roots] = files.map(|file| file.map(Path::to_owned));
    let config = ProviderConfig {
        client_certificate: certificate,
        client_key: key,
        ca_file: roots,
        ..crate::config(url)
    };
    let catalogue =
        model::Catalogue::with_environment([("test".to_owned(), config)].into(), |name| {
            (name == "TEST_KEY").then(|| crate::KEY.to_owned())
        })
        .idle_timeout(Duration::from_secs(60));
    let provider = catalogue.resolve("test/some/model")?;
    let cancel = tokio_util::sync::CancellationToken::new();
    let mut answer = provider.stream(&request(), &cancel).await?;
    let mut text = String::new();
    while let Some(event) = answer.next().await {
        if let model::StreamEvent::Text(piece) = event? {
            text.push_str(&piece);
        }
    }
    Ok(text)
}

#[tokio::test]
async fn a_server_is_shown_our_certificate_and_trusted_by_our_roots() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Authority::new(folder.path(), "ours");
    let other = Authority::new(folder.path(), "other");
    let url = server(&ours).await;
    let ca = ours.folder.join("ca.pem");
    let (certificate, key) = ours.issue("me");
    let certificate_file = ours.write("me.pem", &certificate);
    let key_file = ours.write("me.key", &key);
    let both = ours.write("both.pem", &format!("{key}\n{certificate}"));
    for files in [
        [Some(&*certificate_file), Some(&*key_file), Some(&*ca)],
        [Some(&*both), None, Some(&*ca)],
    ] {
        assert_eq!(ask(&url, files).await, Ok("hello".to_owned()));
    }
    let (certificate, key) = other.issue("stranger");
    let strange = other.write("me.pem", &format!("{certificate}{key}"));
    for (files, part) in [
        (
            [Some(&*both), None, None],
            "or in a PEM file that ca_file in [providers.test] names".to_owned(),
        ),
        (
            [None, None, Some(&*ca)],
            "The server wants a client certificate: name its PEM files as client_certificate and client_key in [providers.test]".to_owned(),
        ),
        (
            [Some(&*strange), None, Some(&*ca)],
            format!("The server does not take the certificate in {} (client_certificate", strange.display()),
        ),
    ] {
        let error = ask(&url, files).await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot reach {url}/chat/completions: ")), "{error}");
        assert!(error.contains(&part), "{error}\nshould say {part}");
    }
    // A certificate that was renewed is used at once.
    std::fs::write(&strange, std::fs::read(&both).unwrap()).unwrap();
    let renewed = ask(&url, [Some(&*strange), None, Some(&*ca)]).await;
    assert_eq!(renewed, Ok("hello".to_owned()));
}

#[tokio::test]
async fn a_file_that_can_not_be_used_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Authority::new(folder.path(), "ours");
    let (certificate, key) = ours.issue("me");
    let (_, other_key) = ours.issue("other");
    let certificate_file = ours.write("me.pem", &certificate);
    let key_file = ours.write("me.key", &key);
    let other_key = ours.write("other.key", &other_key);
    let text = ours.write("text.pem", "not a certificate\n");
    let broken = ours.write(
        "broken.pem",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    );
    let locked = ours.write(
        "locked.key",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    );
    let nowhere = ours.folder.join("nowhere.pem");
    let relative = Path::new("me.pem");
    let check = async |files: [Option<&Path>; 3], key: &str, path: &Path, part: &str| {
        let error = ask("https://localhost:1/v1", files)
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(&format!("[providers.test] {key}: ")),
            "{error}"
        );
        assert!(error.contains(&path.display().to_string()), "{error}");
        assert!(error.contains(part), "{error}\nshould say {part}");
    };
    let me = Some(&*certificate_file);
    let (c, k, r) = ("client_certificate", "client_key", "ca_file");
    check(
        [Some(&nowhere), None, None],
        c,
        &nowhere,
        "can't be read: No such file",
    )
    .await;
    check(
        [Some(&ours.folder), None, None],
        c,
        &ours.folder,
        "is no file",
    )
    .await;
    check(
        [Some(relative), None, None],
        c,
        relative,
        "must be a whole path",
    )
    .await;
    check(
        [Some(&text), None, None],
        c,
        &text,
        "holds no certificate in PEM",
    )
    .await;
    check(
        [Some(&key_file), None, None],
        c,
        &key_file,
        "holds a key and no certificate",
    )
    .await;
    check(
        [me, None, None],
        c,
        &certificate_file,
        "client_key must name its file",
    )
    .await;
    check([me, Some(&nowhere), None], k, &nowhere, "can't be read").await;
    check(
        [me, Some(&text), None],
        k,
        &text,
        "holds no private key in PEM",
    )
    .await;
    check([me, Some(&locked), None], k, &locked, "openssl pkey -in").await;
    check(
        [me, Some(&other_key), None],
        k,
        &other_key,
        "is not the key of the certificate in",
    )
    .await;
    check(
        [None, Some(&key_file), None],
        k,
        &key_file,
        "client_certificate must name its file",
    )
    .await;
    check([None, None, Some(&nowhere)], r, &nowhere, "can't be read").await;
    check(
        [None, None, Some(&text)],
        r,
        &text,
        "holds no certificate in PEM",
    )
    .await;
    check(
        [Some(&broken), Some(&key_file), None],
        k,
        &key_file,
        "can't be used",
    )
    .await;
}
