//! Every error can cross threads and be kept in a `Box<dyn Error + Send + Sync>`.

use core::error::Error;
use listwatch_core::api::ApiError;
use listwatch_core::decode::DecodeError;
use listwatch_core::object::{ParseSelectorError, ParseVersionError};
use listwatch_core::reflector::Failure;
use listwatch_core::request::ParseResourceError;
use listwatch_core::storage::Full;
use listwatch_core::time::ParseWallTimeError;
use listwatch_core::transport::TransportError;

/// Compiles only for errors that can cross threads.
const fn crosses_threads<E: Error + Send + Sync + 'static>() {}

const _: () = {
    crosses_threads::<ApiError>();
    crosses_threads::<DecodeError>();
    crosses_threads::<DecodeError<u16>>();
    crosses_threads::<Failure>();
    crosses_threads::<Full<u16>>();
    crosses_threads::<ParseResourceError>();
    crosses_threads::<ParseVersionError>();
    crosses_threads::<ParseSelectorError>();
    crosses_threads::<ParseWallTimeError>();
    crosses_threads::<TransportError>();
};
