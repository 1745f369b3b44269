use super::error::SavedError;
use crate::decode::{DecodeOptions, Form, ToJson};
use crate::request::{Resource, is_confidential};
use alloc::format;
use alloc::string::{String, ToString};

/// What a saved state is of. A state of another origin is not restored.
///
/// Versions of two clusters have no order, so a watch from another cluster's version would miss changes, or stay silent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Origin {
    pub(super) resource: Resource,
    pub(super) server: String,
    pub(super) authority: String,
    pub(super) cluster: Option<String>,
    /// The collection, its selectors, and what of its objects is requested.
    pub(super) collection: String,
    pub(super) form: String,
}

impl Origin {
    /// The objects of `resource`, decoded as `T` with `options`.
    ///
    /// `build` tells one build of the program from others. It counts for types of the program's own
    /// ([`Form::Fields`]): another build may read a field that was not saved.
    ///
    /// # Errors
    /// If the resource [may contain secrets](is_confidential); see [`including_secrets`](Self::including_secrets).
    pub fn new<T: ToJson>(resource: &Resource, options: DecodeOptions, build: &str) -> Result<Self, SavedError> {
        let target = resource.to_string();
        if is_confidential(&target) {
            return Err(SavedError::Confidential(target));
        }
        Ok(Self::including_secrets::<T>(resource, options, build))
    }

    /// The same for any resource, Secrets too: they are saved as they are, in plain text.
    pub fn including_secrets<T: ToJson>(resource: &Resource, options: DecodeOptions, build: &str) -> Self {
        let metadata_only = if resource.is_metadata_only() { " (metadata)" } else { "" };
        Self {
            resource: resource.clone(),
            server: String::new(),
            authority: String::new(),
            cluster: None,
            collection: format!("{resource}{metadata_only}"),
            form: form(T::form(), options, build),
        }
    }

    /// Names the server by its URL. A state is restored only if a server is named, or the [cluster](Self::cluster).
    pub fn server(mut self, url: &str) -> Self {
        self.server = url.into();
        self
    }

    /// Names the certificate authority that the server is trusted by, by a fingerprint.
    pub fn authority(mut self, fingerprint: &str) -> Self {
        self.authority = fingerprint.into();
        self
    }

    /// Names the cluster by an identity, such as the uid of its namespace `kube-system`. Unless both are known, that of a
    /// saved state is not compared.
    pub fn cluster(mut self, uid: &str) -> Self {
        self.cluster = Some(uid.into());
        self
    }

    /// Compares a saved state's origin with this one.
    pub(super) fn accept(&self, saved: &Self) -> Result<(), SavedError> {
        let clusters = saved.cluster.as_ref().zip(self.cluster.as_ref());
        let parts = [
            ("server", &saved.server, &self.server),
            ("certificate authority", &saved.authority, &self.authority),
            ("resource", &saved.collection, &self.collection),
            ("type of objects", &saved.form, &self.form),
        ];
        let cluster = clusters.map(|(saved, here)| ("cluster", saved, here));
        match parts.into_iter().chain(cluster).find(|(_, saved, here)| saved != here) {
            None if self.server.is_empty() && cluster.is_none() => Err(SavedError::Unnamed),
            None => Ok(()),
            Some((what, saved, here)) => {
                let [saved, here] =
                    [saved, here].map(|text| if text.is_empty() { "none".into() } else { text.clone() });
                Err(SavedError::Other { what, saved, here })
            }
        }
    }
}

fn form(form: Form, options: DecodeOptions, build: &str) -> String {
    let form = match form {
        Form::Whole => "whole objects".into(),
        Form::Metadata => "metadata".into(),
        Form::Fields(name) => format!("{name} of the build {build}"),
    };
    let annotations = if options.annotations { ", annotations" } else { "" };
    let managed_fields = if options.managed_fields { ", managed fields" } else { "" };
    // A lenient decoder takes objects that a strict one refuses.
    let strict = if options.strict { ", strict" } else { "" };
    format!("{form}{annotations}{managed_fields}{strict}")
}
