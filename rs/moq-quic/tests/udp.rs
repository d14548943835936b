//! Over real UDP sockets on loopback: the driver's edges that the simulated network has not.

use std::net::SocketAddr;

use bytes::Bytes;
use moq_quic::{
    ClientConfig, Connection, Endpoint, Error, ServerConfig,
    tls::{Identity, Trust},
};

fn loopback() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn identity() -> Identity {
    Identity::generate(&["localhost".to_owned()]).unwrap()
}

fn server(alpn: &[u8]) -> (Endpoint, Identity) {
    let identity = identity();
    let config = ServerConfig::new(identity.clone(), vec![alpn.to_vec()]);
    (Endpoint::server(loopback(), config).unwrap(), identity)
}

async fn connect(
    server: &Endpoint,
    trust: Trust,
    alpn: &[u8],
) -> (Result<Connection, Error>, Result<Connection, Error>) {
    let client = Endpoint::client(loopback()).unwrap();
    let config = ClientConfig::new(trust, vec![alpn.to_vec()]);
    tokio::join!(
        client.connect(server.local_addr().unwrap(), "localhost", config),
        async { server.accept().await.unwrap().accept().await }
    )
}

#[tokio::test]
async fn streams_and_datagrams() {
    let (endpoint, identity) = server(b"test");
    let trust = Trust::Fingerprints(vec![[0; 32], identity.fingerprint()]);
    let (client, server) = connect(&endpoint, trust, b"test").await;
    let (client, server) = (client.unwrap(), server.unwrap());
    assert_eq!(client.alpn().as_deref(), Some(&b"test"[..]));
    assert_eq!(server.alpn().as_deref(), Some(&b"test"[..]));

    let (mut send, mut recv) = client.open_bi().await.unwrap();
    let data: Vec<u8> = (0..2_000_000_u32).map(|i| (i / 7) as u8).collect();
    let expected = data.clone();
    let echo = tokio::spawn(async move {
        let (mut send, mut recv) = server.accept_bi().await.unwrap();
        tokio::io::copy(&mut recv, &mut send).await.unwrap();
        send.finish().unwrap();
        server.send_datagram(Bytes::from_static(b"done")).unwrap();
        send.stopped().await;
        server
    });
    let write = tokio::spawn(async move {
        send.write_all(&data).await.unwrap();
        send.finish().unwrap();
        send.stopped().await
    });
    let mut back = Vec::new();
    while let Some(chunk) = recv.read_chunk(usize::MAX).await.unwrap() {
        back.extend_from_slice(&chunk);
    }
    assert!(back == expected);
    assert_eq!(client.read_datagram().await.unwrap(), &b"done"[..]);
    assert_eq!(write.await.unwrap(), None);

    let server = echo.await.unwrap();
    server.close(7, "enough");
    let closed = Error::Closed {
        code: 7,
        reason: "enough".to_owned(),
    };
    assert_eq!(client.closed().await, closed);
    assert_eq!(closed.to_string(), "closed by the peer: code 7 (enough)");
    assert_eq!(server.closed().await, Error::LocallyClosed);
    endpoint.wait_idle().await;
}

#[tokio::test]
async fn a_certificate_that_is_not_pinned_is_refused() {
    let (endpoint, _) = server(b"test");
    let (client, server) = connect(&endpoint, Trust::Fingerprints(vec![[1; 32]]), b"test").await;
    let error = client.unwrap_err();
    assert!(
        matches!(&error, Error::Certificate(why) if why.contains("fingerprint")),
        "{error}"
    );
    assert!(matches!(server.unwrap_err(), Error::Tls(_)));
}

#[tokio::test]
async fn a_certificate_without_a_trusted_root_is_refused() {
    let (endpoint, _) = server(b"test");
    let roots = tempfile::NamedTempFile::new().unwrap();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(roots.path(), other.cert.pem()).unwrap();
    let (client, _) = connect(&endpoint, Trust::Roots(roots.path().into()), b"test").await;
    let error = client.unwrap_err();
    assert!(
        matches!(&error, Error::Certificate(why) if why.contains("root")),
        "{error}"
    );
}

#[tokio::test]
async fn no_common_protocol_is_said() {
    let (endpoint, _) = server(b"this");
    let (client, server) = connect(&endpoint, Trust::Insecure, b"that").await;
    assert_eq!(client.unwrap_err(), Error::NoCommonAlpn);
    assert_eq!(server.unwrap_err(), Error::NoCommonAlpn);
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let (endpoint, identity) = server(b"test");
    let addr = endpoint.local_addr().unwrap();
    let config = ServerConfig::new(identity, vec![b"test".to_vec()]);
    let error = Endpoint::server(addr, config).unwrap_err();
    assert!(error.to_string().contains(&addr.to_string()), "{error}");
}

#[tokio::test]
async fn a_refused_connection_is_said() {
    let (endpoint, _) = server(b"test");
    let client = Endpoint::client(loopback()).unwrap();
    let config = ClientConfig::new(Trust::Insecure, vec![b"test".to_vec()]);
    let (client, ()) = tokio::join!(
        client.connect(endpoint.local_addr().unwrap(), "localhost", config),
        async { endpoint.accept().await.unwrap().refuse() }
    );
    assert_eq!(client.unwrap_err(), Error::Refused);
}

#[tokio::test]
async fn a_socket_of_version_6_reaches_version_4() {
    let (endpoint, _) = server(b"test");
    let Ok(client) = Endpoint::client(SocketAddr::from(([0_u16; 8], 0))) else {
        return; // no IPv6 here
    };
    let config = ClientConfig::new(Trust::Insecure, vec![b"test".to_vec()]);
    let addr = endpoint.local_addr().unwrap();
    let (connected, accepted) = tokio::join!(client.connect(addr, "localhost", config), async {
        endpoint.accept().await.unwrap().accept().await
    });
    assert_eq!(connected.unwrap().remote_address(), addr);
    accepted.unwrap();
}

#[tokio::test]
async fn a_pem_file_that_is_missing_is_named() {
    let error = Identity::load_pem("/no/such/cert.pem", "/no/such/key.pem").unwrap_err();
    assert!(error.to_string().contains("/no/such/cert.pem"), "{error}");
}
