//! Reads the `application` of a flow and its `pauses`.

use scenario::{AUDIO_INTERVAL, Application, Connection, MediaConfig, ObjectsConfig, Transport};
use units::{Bytes, Duration, Rate, Time};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::values::{MAX_RATE, spans};
use units::Percent;

const BULK: &[&str] = &["name"];
const MEDIA: &[&str] =
    &["name", "fps", "min-rate", "max-rate", "start-rate", "reaction", "variation", "audio", "max-queue"];
const ON_OFF: &[&str] = &["name", "object", "idle", "begins", "connection"];

/// Most frames per second.
const MAX_FPS: i64 = 1000;
/// Shortest mean idle time. Nobody means more objects per second than this allows.
const SHORTEST_IDLE: Duration = Duration::from_millis(1);

#[derive(Clone, Copy)]
enum Name {
    Bulk,
    Media,
    OnOff,
}

/// Reads a name, or a table with a name. Without the key, the application is bulk. `flow` holds the
/// keys of the flow.
pub(crate) fn read(flow: &Fields<'_>, transport: Transport) -> Result<Application, Diagnostic> {
    let Some(cursor) = flow.get("application") else { return Ok(Application::Bulk) };
    let name = read_name(&cursor)?;
    if let (Name::Media | Name::OnOff, Some(transfer)) = (name, flow.get("transfer")) {
        let right = "remove one of them; `stop` or `lasts` ends any flow";
        return Err(transfer.problem("`transfer` needs bulk data, but the flow has an `application`", right));
    }
    match name {
        Name::Bulk => {
            if cursor.node().as_str().is_none() {
                cursor.table(BULK)?;
            }
            Ok(Application::Bulk)
        }
        Name::Media => read_media(&cursor, transport).map(Application::Media),
        Name::OnOff => read_objects(&cursor).map(Application::OnOff),
    }
}

fn read_name(cursor: &Cursor<'_>) -> Result<Name, Diagnostic> {
    let names = [("bulk", Name::Bulk), ("media", Name::Media), ("on-off", Name::OnOff)];
    if cursor.node().as_str().is_some() {
        return cursor.word("application", &names);
    }
    let right = "write \"bulk\", \"media\" or \"on-off\", or { name = \"media\", ... }";
    let entries = cursor.entries().map_err(|_| cursor.invalid("expected a name or a table", right))?;
    match entries.into_iter().find(|(entry, _)| entry.key == "name") {
        Some((_, name)) => name.word("application", &names),
        None => Err(cursor.invalid("`name` is missing", right)),
    }
}

/// Keys of an application; `fields` is `None` if only its name is given.
struct Keys<'a> {
    at: Cursor<'a>,
    fields: Option<Fields<'a>>,
}

impl<'a> Keys<'a> {
    fn new(cursor: &Cursor<'a>, known: &[&str]) -> Result<Self, Diagnostic> {
        let fields = match cursor.node().as_str() {
            Some(_) => None,
            None => Some(cursor.table(known)?),
        };
        Ok(Self { at: cursor.clone(), fields })
    }

    fn get(&self, key: &str) -> Option<Cursor<'a>> {
        self.fields.as_ref()?.get(key)
    }

    /// Returns the place of the key, or of the application if the key is absent.
    fn at(&self, key: &str) -> Cursor<'a> {
        self.get(key).unwrap_or_else(|| self.at.clone())
    }

    fn read<T: serde::de::DeserializeOwned>(&self, key: &str, default: T) -> Result<T, Diagnostic> {
        self.get(key).map_or(Ok(default), |cursor| cursor.read())
    }
}

fn read_media(cursor: &Cursor<'_>, transport: Transport) -> Result<MediaConfig, Diagnostic> {
    let keys = Keys::new(cursor, MEDIA)?;
    if matches!(transport, Transport::Tcp { .. }) {
        let right = "use transport = \"quic\", whose datagrams are unreliable";
        return Err(cursor.problem("media cannot run over TCP, which retransmits lost packets", right));
    }
    let min_rate = read_rate(&keys, "min-rate", Rate(150_000))?;
    let max_rate = read_rate(&keys, "max-rate", Rate(1_500_000))?;
    if min_rate > max_rate {
        let at = if keys.get("max-rate").is_some() { "max-rate" } else { "min-rate" };
        let wrong = format!("min-rate {min_rate} is above max-rate {max_rate}");
        return Err(keys.at(at).problem(wrong, ""));
    }
    let default = Rate(150_000).max(min_rate).min(max_rate);
    let start_rate = read_rate(&keys, "start-rate", default)?;
    if start_rate < min_rate || start_rate > max_rate {
        let right = format!("must be between min-rate {min_rate} and max-rate {max_rate}");
        return Err(keys.at("start-rate").problem(format!("{start_rate} is out of range"), right));
    }
    Ok(MediaConfig {
        fps: read_fps(&keys)?,
        min_rate,
        max_rate,
        start_rate,
        reaction: keys.read("reaction", Duration::from_millis(100))?,
        variation: read_variation(&keys)?,
        audio: read_audio(&keys, transport)?,
        max_queue: keys.read("max-queue", Duration::from_secs(1))?,
    })
}

fn read_rate(keys: &Keys<'_>, key: &str, default: Rate) -> Result<Rate, Diagnostic> {
    match keys.read(key, default)? {
        Rate(0) => {
            Err(keys.at(key).invalid("the encoder's rate is 0", "must be above 0, like \"150 kbit/s\""))
        }
        rate if rate > MAX_RATE => {
            Err(keys.at(key).invalid(format!("{rate} is too high"), "must be at most 1000 Gbit/s"))
        }
        rate => Ok(rate),
    }
}

fn read_fps(keys: &Keys<'_>) -> Result<u32, Diagnostic> {
    let fps = keys.read("fps", 30_i64)?;
    let known = u32::try_from(fps).ok().filter(|_| (1..=MAX_FPS).contains(&fps));
    known
        .ok_or_else(|| keys.at("fps").invalid(format!("{fps} is out of range"), "must be between 1 and 1000"))
}

fn read_variation(keys: &Keys<'_>) -> Result<f64, Diagnostic> {
    match keys.read("variation", Percent(5.0))? {
        Percent(percent) if percent <= 100.0 => Ok(percent / 100.0),
        percent => Err(keys
            .at("variation")
            .invalid(format!("{percent} is out of range"), "must be at most \"100 %\"")),
    }
}

/// Reads the audio rate; `"0"` and `"off"` disable audio.
fn read_audio(keys: &Keys<'_>, transport: Transport) -> Result<Rate, Diagnostic> {
    let audio = match keys.get("audio") {
        Some(cursor) if matches!(cursor.node().as_str(), Some("0" | "off")) => Rate(0),
        Some(cursor) => cursor.read()?,
        None => Rate(20_000),
    };
    let room = u64::from(transport.payload());
    if audio.bytes_in(AUDIO_INTERVAL) < room {
        return Ok(audio);
    }
    let right = format!("an audio packet leaves every {AUDIO_INTERVAL} and must hold less than {room} bytes");
    Err(keys.at("audio").problem(format!("an audio rate of {audio} is too high"), right))
}

fn read_objects(cursor: &Cursor<'_>) -> Result<ObjectsConfig, Diagnostic> {
    let keys = Keys::new(cursor, ON_OFF)?;
    let (smallest, largest) = match keys.get("object") {
        Some(object) => read_sizes(&object)?,
        None => (Bytes(30_000), Bytes(50_000)),
    };
    let idle = keys.read("idle", Duration::from_secs(10))?;
    if idle < SHORTEST_IDLE {
        let right = format!("must be at least {SHORTEST_IDLE}");
        return Err(keys.at("idle").invalid(format!("an idle time of {idle} is too short"), right));
    }
    let word = |key, default, words: &[(&str, bool)]| {
        keys.get(key).map_or(Ok(default), |cursor| cursor.word(key, words))
    };
    let is_new = word("connection", true, &[("new", true), ("kept", false)])?;
    Ok(ObjectsConfig {
        smallest,
        largest,
        idle,
        begins_on: word("begins", true, &[("on", true), ("off", false)])?,
        connection: if is_new { Connection::New } else { Connection::Kept },
    })
}

/// Reads `"40 kB"`, or `["30 kB", "50 kB"]`.
fn read_sizes(cursor: &Cursor<'_>) -> Result<(Bytes, Bytes), Diagnostic> {
    let (smallest, largest) = match cursor.list() {
        Err(_) => {
            let size = cursor.read()?;
            (size, size)
        }
        Ok(list) => match list.as_slice() {
            [smallest, largest] => (smallest.read()?, largest.read()?),
            _ => {
                let right = "write the smallest and the largest, like [\"30 kB\", \"50 kB\"]";
                return Err(cursor.invalid(format!("expected two sizes, found {}", list.len()), right));
            }
        },
    };
    if smallest == Bytes(0) || smallest > largest {
        let right = "write sizes of at least 1 byte, the smallest first";
        return Err(cursor.invalid(format!("invalid object sizes: {smallest} to {largest}"), right));
    }
    Ok((smallest, largest))
}

/// Reads `[["40 s", "60 s"]]`: start and end of each pause, in times of the run.
pub(crate) fn pauses(flow: &Fields<'_>) -> Result<Vec<(Time, Time)>, Diagnostic> {
    flow.get("pauses").map_or(Ok(Vec::new()), |cursor| spans(&cursor, "pause"))
}
