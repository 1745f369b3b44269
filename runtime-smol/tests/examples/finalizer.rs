use crate::examples::process::Example;
use crate::examples::stage::Stage;
use crate::finalizer::folders;

use listwatch::http::Cluster;
use listwatch_tests::wait::wait_until;
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/folders.example.com";
const FOLDERS: &str = "/apis/example.com/v1/folders";
const FOLDER: &str = "/apis/example.com/v1/namespaces/default/folders/a";

/// Without the arguments of the process, which are those of the test.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    folders(Cluster::infer()?, &root())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("folders")
}

/// What the server says of the definition once it serves its objects.
fn established() -> Value {
    let condition = |name| json!({ "type": name, "status": "True", "lastTransitionTime": "2026-11-22T11:34:48Z", "reason": "Ok", "message": "" });
    json!({ "status": { "conditions": [condition("NamesAccepted"), condition("Established")] } })
}

#[test]
fn a_folder_has_a_directory_once_its_definition_is_established_and_goes_after_it() {
    let _none_yet = fs::remove_dir_all(root());
    let (stage, directory) = (Stage::new(&[CRDS, FOLDERS]), root().join("default/a"));
    stage.apply(FOLDER, json!({}));
    let example = Example::start("finalizer", &stage.server);
    wait_until(|| stage.object(CRD).is_some());
    let definition = stage.object(CRD).unwrap()["spec"].clone();
    assert_eq!(
        (&definition["names"]["plural"], &definition["versions"][0]["subresources"]),
        (&json!("folders"), &json!({ "status": {} }))
    );
    stage.apply(CRD, json!({ "status": { "conditions": null } }));
    let has_asked = |is_meant: &dyn Fn(&str) -> bool| stage.requests().iter().any(|asked| is_meant(&asked.target));
    let waits_for_definition = |target: &str| target.starts_with(CRDS) && target.contains("&resourceVersion=");
    let reads_folders = |target: &str| target.starts_with(FOLDERS);
    wait_until(|| has_asked(&waits_for_definition) || has_asked(&reads_folders));
    assert!(!has_asked(&reads_folders), "the server does not serve folders yet");
    stage.apply(CRD, established());
    wait_until(|| directory.is_dir());
    assert!(has_asked(&reads_folders));
    assert_eq!(stage.object(FOLDER).unwrap()["metadata"]["finalizers"], json!(["example.com/directory"]));
    let ready = || stage.object(FOLDER).unwrap()["status"]["conditions"][0].clone();
    wait_until(|| ready()["type"] == "Ready");
    assert_eq!((&ready()["status"], &ready()["reason"]), (&json!("True"), &json!("Made")));
    fs::write(directory.join("file"), "text").unwrap();

    stage.delete(FOLDER);
    wait_until(|| stage.object(FOLDER).is_none());
    assert!(!directory.exists() && root().is_dir());
    let (status, errors) = example.terminate();
    assert_eq!(status, Some(0), "{errors}");
}
