// Light or dark: as the reader chose, else as the system has it. `repaint` draws what styles don't reach.
function theme(repaint = () => {}) {
  const button = document.getElementById("theme");
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => { try { return localStorage.getItem("compatcheck-theme"); } catch { return null; } };
  const apply = () => {
    const dark = (kept() ?? button.dataset.chosen ?? (prefers.matches ? "dark" : "light")) === "dark";
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.textContent = dark ? "Light theme" : "Dark theme";
    repaint();
  };
  button.addEventListener("click", () => {
    const chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    button.dataset.chosen = chosen;
    try { localStorage.setItem("compatcheck-theme", chosen); } catch { /* a page without storage keeps it while it is open */ }
    apply();
  });
  prefers.addEventListener("change", apply);
  apply();
}
