// The page without this script is a plain form; with it, files can be dropped, and the report comes
// into the page.

const $ = (id) => document.getElementById(id);
const roles = ["source", "target"];
const HINT = "Drop a file here, or choose one";

const size = (bytes) =>
  bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

/** A probability, never surer than it is. */
const share = (p) => (p > 0.99 ? "over 99%" : p < 0.01 ? "under 1%" : `${Math.round(100 * p)}%`);

function file(role) {
  return $(role).files[0] ?? null;
}

function give(role, chosen) {
  const box = new DataTransfer();
  if (chosen) box.items.add(chosen);
  $(role).files = box.files;
}

function say(problem) {
  $("problem").textContent = problem;
  $("problem").hidden = !problem;
}

function refresh() {
  for (const role of roles) {
    const [zone, chosen] = [$(`${role}-zone`), file(role)];
    zone.classList.toggle("full", !!chosen);
    const text = zone.querySelector(".file");
    text.textContent = chosen ? chosen.name : HINT;
    if (chosen) {
      const small = document.createElement("small");
      small.textContent = size(chosen.size);
      text.append(small);
    }
  }
  $("swap").hidden = !roles.some(file);
  $("go").disabled = !roles.every(file);
}

/** Two files at once fill both places; one goes where it was dropped, or to the first free place. */
function take(files, role) {
  say("");
  if (files.length > 2) return say("Drop two files, or one at a time.");
  if (files.length === 2) roles.forEach((each, i) => give(each, files[i]));
  else if (files.length) give(role ?? roles.find((each) => !file(each)) ?? "target", files[0]);
  refresh();
}

function wireDrops() {
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    const zone = event.target.closest?.(".zone");
    take([...event.dataTransfer.files], zone?.querySelector("input").id);
    for (const role of roles) $(`${role}-zone`).classList.remove("over");
  });
  for (const role of roles) {
    const zone = $(`${role}-zone`);
    zone.addEventListener("dragenter", () => zone.classList.add("over"));
    zone.addEventListener("dragleave", (event) => {
      if (!zone.contains(event.relatedTarget)) zone.classList.remove("over");
    });
    $(role).addEventListener("change", () => {
      say("");
      refresh();
    });
  }
  $("swap").addEventListener("click", () => {
    const [one, two] = roles.map(file);
    give("source", two);
    give("target", one);
    refresh();
  });
}

/** Send the form; resolves to the result, rejects with a sentence. */
function send(form, onUpload, onWait) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/json");
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => onUpload(event.loaded / event.total));
    request.upload.addEventListener("load", onWait);
    request.addEventListener("error", () => reject("The server cannot be reached. Is it running?"));
    request.addEventListener("load", () => {
      if (request.status === 200) resolve(request.response);
      else reject(request.response?.error ?? `The server answered with status ${request.status}.`);
    });
    request.send(new FormData(form));
  });
}

async function register(event) {
  event.preventDefault();
  say("");
  const limit = Number(document.body.dataset.limit);
  if (roles.reduce((sum, role) => sum + file(role).size, 0) > limit) {
    const most = Math.floor(limit / 2 ** 20); // as the server counts
    return say(`The files are too large: ${most} MB for both together is the most.`);
  }
  const began = performance.now();
  $("progress").hidden = false;
  $("go").disabled = true;
  $("stage").textContent = "Sending the files";
  let clock = null;
  try {
    const result = await send(
      $("form"),
      (share) => ($("filled").style.width = `${100 * share}%`),
      () => {
        $("progress").classList.add("working");
        clock = setInterval(() => {
          const seconds = ((performance.now() - began) / 1000).toFixed(0);
          $("stage").textContent = `Registering, ${seconds} s`;
        }, 200);
      },
    );
    show(result);
  } catch (problem) {
    say(String(problem));
  } finally {
    clearInterval(clock);
    $("progress").hidden = true;
    $("progress").classList.remove("working");
    $("filled").style.width = "0";
    refresh();
  }
}

function show(result) {
  $("verdict").textContent = result.confident ? "Confident" : "Doubtful";
  $("verdict").classList.toggle("doubtful", !result.confident);
  const unit = result.unit ? ` ${result.unit}` : "";
  $("summary").textContent = [
    `${share(result.confidence)} likely right`,
    `${result.rotation_degrees.toFixed(2)}°`,
    `${(100 * result.inlier_ratio).toFixed(0)}% within ${Number(result.radius.toPrecision(3))}${unit}`,
    `${result.seconds.toFixed(1)} s`,
  ].join(" · ");
  $("tab").href = $("frame").src = result.report;
  $("save-report").href = `${result.report}?save`;
  $("save-pose").href = result.pose;
  $("save-aligned").href = result.aligned ?? "";
  $("save-aligned").hidden = !result.aligned;
  $("desk").hidden = true;
  $("result").hidden = false;
  $("again").focus();
}

$("form").addEventListener("submit", register);
$("again").addEventListener("click", () => {
  $("result").hidden = true;
  $("desk").hidden = false;
  $("frame").removeAttribute("src");
});
wireDrops();
refresh();
document.documentElement.dataset.state = "ready";
