/** The page's style: one accent, for the run; quieter tones for what it is compared with. Follows the reader's light or dark. */
export const pageStyle = `
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--text:#14181f;--soft:#5b6472;--grid:#e4e7ec;--run:#2563eb;--bound:#0f9d7a;--baseline:#c2762b;--limit:#98a2b3}
@media(prefers-color-scheme:dark){:root{--page:#0e1116;--card:#171b22;--text:#e8ebf0;--soft:#98a2b3;--grid:#2a303a;--run:#6ea8ff;--bound:#3ecfa5;--baseline:#e6a15c;--limit:#5b6472}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1400px;margin:0 auto;padding:32px 24px 48px}
h1{font-size:26px;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:16px;margin:0}
p{margin:0;color:var(--soft)}
.grid2{display:grid;gap:16px;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));margin-top:16px}
.tiles{display:grid;gap:16px;grid-template-columns:repeat(auto-fit,minmax(180px,1fr));margin-top:24px}
.card{background:var(--card);border:1px solid var(--grid);border-radius:12px;padding:18px 20px}
.wide{margin-top:16px}
.tile b{display:block;font-size:28px;font-weight:650;letter-spacing:-.02em;margin:2px 0;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:13px}
.card p{font-size:13px;margin:2px 0 10px}
svg{display:block;width:100%;height:auto}
svg text{fill:var(--soft);font-size:12px;font-variant-numeric:tabular-nums}
svg .name,svg .value{fill:var(--text);font-size:13px}
.grid{stroke:var(--grid);stroke-width:1}
.line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.mark{opacity:0}.mark:hover{opacity:1}
.heat{fill:var(--run)}
.stroke-run{stroke:var(--run);stroke-width:2.5}.stroke-bound{stroke:var(--bound)}.stroke-baseline{stroke:var(--baseline)}
.fill-run{fill:var(--run);background:var(--run)}.fill-bound{fill:var(--bound);background:var(--bound)}.fill-baseline{fill:var(--baseline);background:var(--baseline)}.fill-limit{fill:var(--limit);background:var(--limit)}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;margin-bottom:8px}
.legend i{display:inline-block;width:14px;height:4px;border-radius:2px;margin-right:6px;vertical-align:middle}
table{border-collapse:collapse;width:100%;font-size:13px}
td,th{text-align:left;padding:5px 12px 5px 0;border-bottom:1px solid var(--grid);font-weight:400;vertical-align:top}
th{color:var(--soft);width:150px}
td{overflow-wrap:anywhere}
`;
