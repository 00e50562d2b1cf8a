//! Transfers a file over s2n-quic.

mod common;

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use s2n_quic::client::{Client, Connect};
use s2n_quic::provider::congestion_controller::{Bbr, Cubic};
use s2n_quic::provider::io::tokio as udp;
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls as tls;
use s2n_quic::server::Server;

use common::{ALPN, ANY, Arguments, CREDIT, Failure, PIECE};

/// Bytes of the IPv4 and UDP headers, which s2n-quic's MTU includes.
const HEADERS: u16 = 28;

fn main() -> std::process::ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    common::finish(runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(run())))
}

async fn run() -> Result<(), Failure> {
    let (is_server, arguments) = Arguments::read()?;
    let bbr = match arguments.text("controller")? {
        "cubic" => false,
        "bbr2" => true,
        other => return Err(format!("s2n-quic has no {other}").into()),
    };
    match is_server {
        true => serve(server(&arguments, bbr)?, arguments.path("root")?).await,
        false => fetch(&arguments, client(&arguments, bbr)?).await,
    }
}

fn io(arguments: &Arguments, address: std::net::SocketAddr) -> Result<udp::Provider, Failure> {
    let mtu = arguments.number("datagram")? + HEADERS;
    let io = udp::Builder::default().with_receive_address(address)?;
    Ok(io.with_max_mtu(mtu)?.with_initial_mtu(mtu)?.with_base_mtu(mtu)?.build()?)
}

fn limits() -> Result<Limits, Failure> {
    let credit = u64::from(CREDIT);
    let limits = Limits::new().with_data_window(credit)?.with_max_idle_timeout(Duration::from_secs(60))?;
    let limits = limits.with_bidirectional_local_data_window(credit)?;
    Ok(limits.with_bidirectional_remote_data_window(credit)?.with_max_send_buffer_size(CREDIT)?)
}

fn server(arguments: &Arguments, bbr: bool) -> Result<Server, Failure> {
    let tls = tls::Server::builder()
        .with_certificate(arguments.path("cert")?.as_path(), arguments.path("key")?.as_path())?
        .with_application_protocols([ALPN].into_iter())?
        .with_key_logging()?
        .build()?;
    let io = io(arguments, arguments.address()?)?;
    let builder = Server::builder().with_tls(tls)?.with_io(io)?.with_limits(limits()?)?;
    Ok(match bbr {
        true => builder.with_congestion_controller(Bbr::default())?.start()?,
        false => builder.with_congestion_controller(Cubic::default())?.start()?,
    })
}

fn client(arguments: &Arguments, bbr: bool) -> Result<Client, Failure> {
    let tls = tls::Client::builder()
        .with_certificate(arguments.path("ca")?.as_path())?
        .with_application_protocols([ALPN].into_iter())?
        .with_key_logging()?
        .build()?;
    let builder = Client::builder().with_tls(tls)?.with_io(io(arguments, ANY)?)?.with_limits(limits()?)?;
    Ok(match bbr {
        true => builder.with_congestion_controller(Bbr::default())?.start()?,
        false => builder.with_congestion_controller(Cubic::default())?.start()?,
    })
}

async fn serve(mut server: Server, root: PathBuf) -> Result<(), Failure> {
    while let Some(connection) = server.accept().await {
        let root = root.clone();
        tokio::spawn(async move {
            if let Err(error) = answer(connection, root).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

/// Answers one request of a connection, then waits until the peer closes it.
async fn answer(mut connection: s2n_quic::Connection, root: PathBuf) -> Result<(), Failure> {
    let stream = connection.accept_bidirectional_stream().await?.ok_or("no request")?;
    let (mut receive, mut send) = stream.split();
    let mut request = Vec::new();
    while let Some(data) = receive.receive().await? {
        request.extend_from_slice(&data);
        if request.len() > 4096 {
            return Err("the request is too long".into());
        }
    }
    let mut file = BufReader::new(File::open(common::requested(&root, &request)?)?);
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            length => send.send(piece[..length].to_vec().into()).await?,
        }
    }
    send.finish()?;
    // Returns when the peer closes the connection.
    let _ = connection.accept_bidirectional_stream().await;
    Ok(())
}

async fn fetch(arguments: &Arguments, client: Client) -> Result<(), Failure> {
    let mut file = File::create(arguments.path("out")?)?;
    common::wait_for_start()?;
    let connect = Connect::new(arguments.address()?).with_server_name(arguments.text("name")?);
    let mut connection = client.connect(connect).await?;
    let (mut receive, mut send) = connection.open_bidirectional_stream().await?.split();
    send.send(format!("GET {}\r\n", arguments.text("path")?).into_bytes().into()).await?;
    send.finish()?;
    while let Some(data) = receive.receive().await? {
        file.write_all(&data)?;
    }
    connection.close(0_u32.into());
    let mut client = client;
    client.wait_idle().await?;
    Ok(())
}
