use super::*;

/// What a published importer wrote for one of the sample streams.
const PUBLISHED: &str = r#"{"video":{"renditions":{"0.avc3":{"codec":"avc3.64001f","codedWidth":640,"codedHeight":360,
"bitrate":1249124,"container":{"kind":"legacy"},"jitter":160}}},
"audio":{"renditions":{"1.aac":{"codec":"mp4a.40.2","sampleRate":48000,"numberOfChannels":2,"bitrate":126973,
"description":"1190","container":{"kind":"legacy"},"jitter":171}}},
"clock":{"wall":218246350621160,"timescale":1000000},
"mpegts":{"tracks":{"0.avc3":{"pid":256},"1.aac":{"pid":257,"descriptors":[{"tag":5,"data":"SEVWQw=="}]}},
"program":{"transportStreamId":1,"programNumber":1,"pmtPid":4096},
"si":{"17":{"66":{"track":"0x0011-0x42.si","interval":2000}}},"muxRate":2500000},"novelty":[1]}"#;

#[test]
fn a_published_catalog_is_read_and_written_back_unchanged() {
    let catalog = Catalog::parse(PUBLISHED.as_bytes()).unwrap();
    let mpegts = catalog.mpegts.as_ref().unwrap();
    assert_eq!(
        mpegts.tracks["1.aac"].descriptors,
        [Descriptor {
            tag: 5,
            data: Bytes::from_static(b"HEVC")
        }]
    );
    assert_eq!(mpegts.si[&17][&66].interval, Some(2000));
    let again: Value = serde_json::from_slice(&catalog.to_json().unwrap()).unwrap();
    let first: Value = serde_json::from_str(PUBLISHED).unwrap();
    assert_eq!(again, first);
}

#[test]
fn an_empty_document_is_a_catalog_without_tracks() {
    assert_eq!(Catalog::parse(b"{}").unwrap(), Catalog::default());
    assert_eq!(&Catalog::default().to_json().unwrap()[..], b"{}");
}

#[test]
fn more_renditions_than_allowed_are_refused() {
    let mut catalog = Catalog::default();
    for index in 0..=MAX_RENDITIONS {
        catalog
            .audio
            .renditions
            .insert(index.to_string(), AudioRendition::default());
    }
    let json = catalog.to_json().unwrap();
    assert!(matches!(
        Catalog::parse(&json),
        Err(Error::TooManyRenditions(65))
    ));
}

#[test]
fn what_is_not_json_is_an_error_not_a_panic() {
    for text in [
        "",
        "{",
        "[]",
        r#"{"mpegts":{"tracks":{"a":{"pid":70000}}}}"#,
    ] {
        assert!(Catalog::parse(text.as_bytes()).is_err(), "{text}");
    }
}
