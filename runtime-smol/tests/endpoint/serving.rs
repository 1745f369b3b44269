//! A program with an endpoint, and clients of it.

use core::time::Duration;
use listwatch_runtime_smol::api::{ApiFn, ApiRequest, ApiResponse};
use listwatch_runtime_smol::controller::{Controller, Outcome};
use listwatch_runtime_smol::decode::MetadataOnly;
use listwatch_runtime_smol::endpoint::Endpoint;
use listwatch_runtime_smol::file::{Object, SimulatedCluster};
use listwatch_runtime_smol::metrics::Metrics;
use listwatch_runtime_smol::{Client, Clock, Informers, World};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
