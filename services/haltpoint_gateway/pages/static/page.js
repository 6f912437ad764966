// What a page can do beyond its plain forms: renew itself, show times in the reader's zone, take keys, and hold an answer
// for five seconds so that it can be taken back. Without this file everything works, by loading pages.
"use strict";

const HOLD = 5;
const words = document.body.dataset;

// ---- times in the reader's zone

const clock = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
});

function localTimes(root) {
  for (const time of root.querySelectorAll("time")) {
    time.textContent = clock.format(new Date(time.dateTime));
  }
}

// ---- renewal: the stream says that something changed, and the page is fetched again

async function fetched(address) {
  const reply = await fetch(address, { headers: { Accept: "text/html" } });
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  localTimes(page);
  return { page, isAway: reply.redirected };
}

async function renew() {
  const { page, isAway } = await fetched(location.href);
  if (isAway) {
    location.reload();
    return;
  }
  Idiomorph.morph(document.getElementById("main"), page.getElementById("main"), {
    ignoreActiveValue: true,
    callbacks: { beforeNodeMorphed: mayChange, beforeNodeRemoved: mayGo },
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

// A question that was answered elsewhere stays in the list, and says by whom.
function mayGo(node) {
  const items = node.parentElement?.querySelectorAll("[data-request]") ?? [];
  const going = [...items].filter((item) => node.contains(item));
  going.filter((item) => !item.classList.contains("closed")).forEach(close);
  return going.length === 0;
}

async function close(item) {
  item.classList.add("closed");
  const { page } = await fetched(item.dataset.request);
  const notice = page.querySelector("article > .notice");
  if (!notice) {
    item.remove();
    return;
  }
  notice.querySelector("a").remove();
  item.querySelector("input")?.remove();
  item.querySelector("small").replaceChildren(...notice.childNodes);
}

function watch(address) {
  const lost = document.getElementById("cut-off");
  const stream = new EventSource(address);
  let isLooking = false;
  let again = false;
  const look = async () => {
    again = isLooking;
    if (isLooking) {
      return;
    }
    isLooking = true;
    await renew().catch(() => { lost.hidden = false; });
    isLooking = false;
    if (again) {
      look();
    }
  };
  stream.addEventListener("changed", look);
  // Cut off, the page looks once: who is signed out sees the door, and all others what may be old.
  stream.addEventListener("error", () => {
    lost.hidden = false;
    look();
  });
  // What changed before the stream was open has sent no event.
  stream.addEventListener("open", () => {
    lost.hidden = true;
    look();
  });
}

// ---- an answer is held for some seconds before it is sent

let held = null;

function button(text, press) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", press);
  return made;
}

function hold(form, pressed) {
  const bar = document.createElement("div");
  const line = document.createElement("span");
  bar.className = "held";
  bar.setAttribute("role", "status");
  const name = (pressed?.querySelector("strong") ?? pressed)?.textContent.trim() ?? "";
  let left = HOLD;
  const show = () => { line.textContent = words.held.replace("{seconds}", left).replace("{name}", () => name); };
  const stop = () => {
    clearInterval(timer);
    bar.remove();
    held = null;
  };
  const send = () => {
    stop();
    form.dataset.sent = "yes";
    form.requestSubmit(pressed);
  };
  const timer = setInterval(() => {
    left -= 1;
    show();
    if (left <= 0) {
      send();
    }
  }, 1000);
  const back = button(words.takeBack, () => { stop(); pressed?.focus(); });
  bar.append(line, back, button(words.sendNow, send));
  document.body.append(bar);
  show();
  back.focus();
  const leave = () => {
    stop();
    navigator.sendBeacon(form.action, new URLSearchParams(new FormData(form, pressed)));
  };
  held = { stop, leave };
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-answer]") || form.dataset.sent) {
    return;
  }
  event.preventDefault();
  held?.stop();
  hold(form, event.submitter);
});

// Who leaves the page has not taken the answer back.
window.addEventListener("pagehide", () => held?.leave());

document.addEventListener("input", (event) => {
  const form = event.target.closest("form");
  if (form) {
    form.dataset.touched = "yes";
  }
  if (event.target.matches("[data-all]")) {
    for (const box of form.querySelectorAll("[name=request]")) {
      box.checked = event.target.checked;
    }
  }
});

// ---- keys

const help = document.getElementById("help");

function move(step) {
  const items = [...document.querySelectorAll(".item a")];
  const here = items.indexOf(document.activeElement);
  items[Math.min(items.length - 1, Math.max(0, here + step))]?.focus();
}

function press(key) {
  const wanted = document.querySelector(`[data-key="${key}"]`);
  if (wanted?.matches("input")) {
    wanted.closest("details").open = true;
    wanted.focus();
  } else {
    wanted?.click();
  }
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (isTyping || help?.open || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  if (event.key === "Escape") {
    held?.stop();
  } else if (event.key === "j" || event.key === "k") {
    move(event.key === "j" ? 1 : -1);
  } else if (/^[1-9yne/?]$/.test(event.key)) {
    event.preventDefault();
    press(event.key);
  }
});

if (help) {
  const open = document.querySelector("footer");
  open.hidden = false;
  open.addEventListener("click", () => help.showModal());
}

// A link to a call opens it.
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
  }
}

window.addEventListener("hashchange", openTarget);
openTarget();
localTimes(document);
if (words.live) {
  watch(words.live);
}
