"use strict";
// Elements of the page, and requests to the server.

const byId = (id) => document.getElementById(id);

function filled(found, attributes, children) {
  for (const [key, value] of Object.entries(attributes))
    if (key.startsWith("on")) found.addEventListener(key.slice(2), value);
    else if (value !== null) found.setAttribute(key, value);
  found.append(...children);
  return found;
}

function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

/** A word of a command as a shell reads it. */
const quoted = (word) => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;

async function asked(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer any more: start `multicube studio` again.");
  }
  const text = await response.text();
  if (response.status === 403) throw new Error(text);
  const found = JSON.parse(text);
  if (!response.ok) throw new Error(found.error);
  return found;
}
