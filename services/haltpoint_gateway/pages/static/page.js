// What a page can do beyond its plain forms: renew itself, show times in the reader's zone, take keys, and hold an answer
// for five seconds so that it can be taken back. Without this file everything works, by loading pages.
"use strict";

const HOLD = 5;

// ---- times in the reader's zone

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const zone = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" });

function localTimes(root) {
  for (const time of root.querySelectorAll("time")) {
    const moment = new Date(time.dateTime);
    const name = zone.formatToParts(moment).find((part) => part.type === "timeZoneName").value;
    time.textContent = `${clock.format(moment)} ${name}`;
  }
}

// ---- renewal: the stream says that something changed, and the page is fetched again

async function renew() {
  const reply = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (reply.redirected) {
    location.reload();
    return;
  }
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  const fresh = page.getElementById("main");
  localTimes(fresh);
  Idiomorph.morph(document.getElementById("main"), fresh, {
    ignoreActiveValue: true,
    callbacks: { beforeNodeMorphed: mayChange },
  });
}

// A form that a person has begun to fill in is left alone, unless the question is closed. Open details stay open.
function mayChange(before, after) {
  if (before instanceof HTMLFormElement && before.dataset.touched) {
    return false;
  }
  if (before instanceof HTMLDetailsElement && after instanceof HTMLDetailsElement) {
    after.open = before.open;
  }
  return true;
}

function watch(address) {
  const lost = document.getElementById("cut-off");
  const stream = new EventSource(address);
  let waiting = false;
  let again = false;
  const look = async () => {
    if (waiting) {
      again = true;
      return;
    }
    waiting = true;
    try {
      await renew();
    } catch {
      lost.hidden = false;
    }
    waiting = false;
    if (again) {
      again = false;
      look();
    }
  };
  let cut = false;
  stream.addEventListener("changed", look);
  stream.addEventListener("error", () => {
    cut = true;
    lost.hidden = false;
  });
  stream.addEventListener("open", () => {
    lost.hidden = true;
    if (cut) {
      look();
    }
    cut = false;
  });
}

// ---- an answer is held for some seconds before it is sent

let held = null;

function hold(form, button) {
  const bar = document.createElement("div");
  bar.className = "held";
  bar.setAttribute("role", "status");
  const words = document.createElement("span");
  const back = document.createElement("button");
  back.type = "button";
  back.textContent = document.body.dataset.takeBack;
  const now = document.createElement("button");
  now.type = "button";
  now.textContent = document.body.dataset.sendNow;
  bar.append(words, back, now);
  document.body.append(bar);
  let left = HOLD;
  const name = button ? button.textContent.trim().split("\n")[0] : "";
  const show = () => { words.textContent = document.body.dataset.held.replace("{name}", name).replace("{seconds}", left); };
  const stop = () => {
    clearInterval(timer);
    bar.remove();
    held = null;
  };
  const send = () => {
    stop();
    form.dataset.sent = "yes";
    form.requestSubmit(button);
  };
  const timer = setInterval(() => {
    left -= 1;
    show();
    if (left <= 0) {
      send();
    }
  }, 1000);
  show();
  held = { stop, send };
  back.addEventListener("click", stop);
  now.addEventListener("click", send);
  back.focus();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-answer]") || form.dataset.sent) {
    return;
  }
  event.preventDefault();
  if (held) {
    held.stop();
  }
  hold(form, event.submitter);
});

document.addEventListener("input", (event) => {
  const form = event.target.closest("form");
  if (form) {
    form.dataset.touched = "yes";
  }
});

// ---- keys

function move(step) {
  const items = [...document.querySelectorAll(".item a")];
  const here = items.indexOf(document.activeElement);
  const next = items[Math.min(items.length - 1, Math.max(0, here + step))];
  if (next) {
    next.focus();
  }
}

function press(key) {
  const wanted = document.querySelector(`[data-key="${key}"]`);
  if (wanted) {
    wanted.click();
  }
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, textarea, select");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  if (event.key === "Escape" && held) {
    held.stop();
  } else if (event.key === "j") {
    move(1);
  } else if (event.key === "k") {
    move(-1);
  } else if (/^[1-9yne]$/.test(event.key)) {
    press(event.key);
  }
});

localTimes(document);
if (document.body.dataset.live) {
  watch(document.body.dataset.live);
}
