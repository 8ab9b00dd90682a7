/* SPDX-License-Identifier: Apache-2.0 */
#include "server/web/web.h"

/* Swaps the code in the address for a cookie, takes it out of the address and the history, and
 * tells whether the browser is logged in. Whatever is shown goes through textContent. */
const char web_script[] =
    "'use strict';\n"
    "const say = document.getElementById('login');\n"
    "const out = document.getElementById('logout');\n"
    "const post = (path, headers) =>\n"
    "  fetch(path, {method: 'POST', headers: {'X-Tensord': '1', ...headers}});\n"
    "async function enter() {\n"
    "  const code = new URLSearchParams(location.hash.slice(1)).get('token');\n"
    "  if (code === null) return;\n"
    "  history.replaceState(null, '', location.pathname);\n"
    "  const answer = await post('/v1/login', {Authorization: 'Bearer ' + code});\n"
    "  if (!answer.ok) throw new Error((await answer.json()).detail);\n"
    "}\n"
    "async function show() {\n"
    "  const answer = await fetch('/v1/info');\n"
    "  out.hidden = !answer.ok;\n"
    "  say.textContent = answer.ok\n"
    "    ? 'This browser is logged in: tensord ' + (await answer.json()).version + '.'\n"
    "    : 'This browser is not logged in; tensord login prints a link that does it.';\n"
    "}\n"
    "out.onclick = async () => { await post('/v1/logout'); await show(); };\n"
    "enter().then(show).catch(error => { say.textContent = error.message; });\n";
