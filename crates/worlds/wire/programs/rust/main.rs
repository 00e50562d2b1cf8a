//! Transfers a file over quinn or noq. Both have the same interface; `stack` is the one that
//! Cargo.toml names.

mod common;
mod controllers;

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use stack::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use stack::{ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};

use common::{ALPN, ANY, Arguments, CREDIT, Failure, PIECE};

fn main() -> std::process::ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    common::finish(runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(run())))
}

async fn run() -> Result<(), Failure> {
    match Arguments::read()? {
        (true, arguments) => serve(&arguments).await,
        (false, arguments) => fetch(&arguments).await,
    }
}

fn transport(arguments: &Arguments) -> Result<Arc<TransportConfig>, Failure> {
    let datagram = arguments.number("datagram")?;
    let mut config = TransportConfig::default();
    config.initial_mtu(datagram).min_mtu(datagram).mtu_discovery_config(None);
    config.stream_receive_window(VarInt::from_u32(CREDIT)).receive_window(VarInt::from_u32(CREDIT));
    config.send_window(CREDIT.into());
    config.max_idle_timeout(Some(Duration::from_secs(60).try_into()?));
    controllers::set(&mut config, arguments.text("controller")?)?;
    Ok(Arc::new(config))
}

async fn serve(arguments: &Arguments) -> Result<(), Failure> {
    let chain = CertificateDer::pem_file_iter(arguments.path("cert")?)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(arguments.path("key")?)?;
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    tls.key_log = Arc::new(rustls::KeyLogFile::new());
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(transport(arguments)?);
    let endpoint = Endpoint::server(config, arguments.address()?)?;
    let root = arguments.path("root")?;
    while let Some(incoming) = endpoint.accept().await {
        let root = root.clone();
        tokio::spawn(async move {
            if let Err(error) = answer(incoming, root).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

/// Answers one request of a connection, then waits until the peer closes it.
async fn answer(incoming: stack::Incoming, root: std::path::PathBuf) -> Result<(), Failure> {
    let connection = incoming.await?;
    let (mut send, mut receive) = connection.accept_bi().await?;
    let request = receive.read_to_end(4096).await?;
    let mut file = BufReader::new(File::open(common::requested(&root, &request)?)?);
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            length => send.write_all(&piece[..length]).await?,
        }
    }
    send.finish()?;
    connection.closed().await;
    Ok(())
}

async fn fetch(arguments: &Arguments) -> Result<(), Failure> {
    let mut roots = rustls::RootCertStore::empty();
    for root in CertificateDer::pem_file_iter(arguments.path("ca")?)? {
        roots.add(root?)?;
    }
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    tls.key_log = Arc::new(rustls::KeyLogFile::new());
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(transport(arguments)?);
    let endpoint = Endpoint::client(ANY)?;
    let mut file = File::create(arguments.path("out")?)?;
    common::wait_for_start()?;
    let connection = endpoint.connect_with(config, arguments.address()?, arguments.text("name")?)?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(format!("GET {}\r\n", arguments.text("path")?).as_bytes()).await?;
    send.finish()?;
    let mut piece = vec![0; PIECE];
    while let Some(length) = receive.read(&mut piece).await? {
        file.write_all(&piece[..length])?;
    }
    connection.close(0_u32.into(), b"done");
    endpoint.wait_idle().await;
    Ok(())
}
